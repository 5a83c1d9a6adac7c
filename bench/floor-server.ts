// The floor: bare uWebSockets.js handlers that take in and give out the same bytes as the forum,
// and do nothing else. POST parses its JSON body and answers as long as a publication; GET answers
// a page that is handed over at the start (a file: its path is the first argument).

import uws from 'uWebSockets.js'
import { readFileSync } from 'node:fs'

const [pagePath, publicationPath] = process.argv.slice(2)
const page = readFileSync(pagePath)
const publication = readFileSync(publicationPath)
const headers =
  'application/json; charset=utf-8\r\nCache-Control: no-store\r\n' +
  'X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n' +
  'X-Robots-Tag: noindex, nofollow'

const app = uws.App()
app.get('/*', (response) => {
  response.writeHeader('Content-Type', headers)
  response.end(page)
})
app.post('/*', (response) => {
  response.onAborted(() => {})
  response.onData((chunk, isLast) => {
    if (!isLast) return
    const body = JSON.parse(Buffer.from(chunk).toString())
    if (typeof body.content !== 'string') throw new Error('the body is not what the bench sends')
    response.writeStatus('201 Created')
    response.writeHeader('Content-Type', headers)
    response.end(publication)
  })
})
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) throw new Error('no port')
  process.stdout.write(
    `${JSON.stringify({ url: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` })}\n`,
  )
})
