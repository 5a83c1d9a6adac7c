// The floor: bare uWebSockets.js handlers that receive and send the same bytes as the forum, and do
// nothing else. They cycle through the forum's answers to some of the same requests, which are a
// file of [{ route, status, body }] whose path is the argument. A POST handler parses its body.

import { readFileSync } from 'node:fs'
import { type HttpResponse, loadBinding } from '../src/edge/http/uws-binding.ts'
import type { Answered } from './ring.ts'

const headers =
  'application/json; charset=utf-8\r\nCache-Control: no-store\r\n' +
  'X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n' +
  'X-Robots-Tag: noindex, nofollow'
const reasons: Record<number, string> = { 200: '200 OK', 201: '201 Created' }

const answers = JSON.parse(readFileSync(process.argv[2], 'utf8')) as Answered[]
const { uws } = loadBinding()!
const app = uws.App()

for (const route of new Set(answers.map(({ route }) => route))) {
  const ofRoute = answers.filter((answer) => answer.route === route)
  const [method, pattern] = route.split(' ')
  const status = reasons[ofRoute[0].status]
  const bodies = ofRoute.map(({ body }) => Buffer.from(body))
  let next = 0
  const send = (response: HttpResponse) => {
    next = next + 1 < bodies.length ? next + 1 : 0
    if (status !== reasons[200]) response.writeStatus(status)
    response.writeHeader('Content-Type', headers)
    response.end(bodies[next])
  }
  if (method === 'GET') {
    app.get(pattern, send)
    continue
  }
  app.post(pattern, (response) => {
    response.onAborted(() => {})
    response.onData((chunk, isLast) => {
      if (!isLast) return
      const body: unknown = JSON.parse(Buffer.from(chunk).toString())
      if (typeof body !== 'object') throw new Error('the body is not what the bench sends')
      send(response)
    })
  })
}
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) throw new Error('no port')
  const url = `http://127.0.0.1:${uws.us_socket_local_port(socket)}`
  process.stdout.write(`${JSON.stringify({ url })}\n`)
})
