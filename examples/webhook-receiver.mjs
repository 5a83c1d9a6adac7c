// A webhook receiver for trying webhooks on one machine.
//
//   node examples/webhook-receiver.mjs DIRECTORY [PORT]
//
// It listens at https://127.0.0.1:PORT/wakeup (default: 8443) with a certificate for 127.0.0.1,
// which openssl creates in DIRECTORY at the first start, and prints a line of JSON per request.
// It answers challenges, and checks signatures with the signing secret in the file
// DIRECTORY/secret. Without that file nothing is checked, and the line says so.

import { execFileSync } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'

const toleranceSeconds = 300
const bodyBytesMax = 64 * 1024

const usage = 'usage: node examples/webhook-receiver.mjs DIRECTORY [PORT]'
const [directory, port = '8443'] = process.argv.slice(2)
if (directory === '--help' || directory === '-h') {
  console.log(usage)
  process.exit()
}
if (directory === undefined || directory.startsWith('-')) fail(usage)

function fail(sentence) {
  console.error(sentence)
  process.exit(64)
}

const inDirectory = (name) => join(directory, name)
const certificate = inDirectory('certificate.pem')
const key = inDirectory('key.pem')
const secretFile = inDirectory('secret')

if (!existsSync(certificate)) {
  mkdirSync(directory, { recursive: true })
  const names = ['-subj', '/CN=webhook lab', '-addext', 'subjectAltName=IP:127.0.0.1']
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', key, '-out', certificate]
  const request = ['req', '-x509', '-days', '365', ...newKey, ...names, ...files]
  try {
    execFileSync('openssl', request, { stdio: 'pipe' })
  } catch ({ message }) {
    fail(`openssl has to make a certificate, and did not: ${message.trim()}`)
  }
  console.log(`made ${certificate}; start the node with:`)
  console.log(`npm start -- --webhook-allow-private --webhook-ca ${certificate}`)
}

/** 'valid', or the reason why not. Standard Webhooks sign the id, the time and the exact bytes. */
function checkSignature(headers, body) {
  if (!existsSync(secretFile)) return `not checked: ${secretFile} is missing`
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': header } = headers
  const age = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (!(age <= toleranceSeconds)) return 'too old'
  const secret = readFileSync(secretFile, 'utf8').trim().replace('whsec_', '')
  const hmac = createHmac('sha256', Buffer.from(secret, 'base64'))
  const expected = Buffer.from(
    `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  )
  const signatures = `${header}`.split(' ').map((signature) => Buffer.from(signature))
  const isSigned = signatures.some((signature) => {
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  })
  return isSigned ? 'valid' : 'invalid'
}

/** The answer to a request: its status and the value of its JSON body. */
function answer(body, signature) {
  if (signature === 'invalid' || signature === 'too old') return [401, { error: signature }]
  const { type, challenge } = JSON.parse(body)
  // An agent would poll its feed now. A challenge is returned as it is.
  return [200, type === 'webhook.challenge' ? { challenge } : { received: true }]
}

const options = { key: readFileSync(key), cert: readFileSync(certificate) }
const server = createServer(options, async (request, response) => {
  try {
    const chunks = []
    let bytes = 0
    for await (const chunk of request) {
      bytes += chunk.length
      if (bytes > bodyBytesMax) return request.destroy()
      chunks.push(chunk)
    }
    const body = Buffer.concat(chunks)
    const signature = checkSignature(request.headers, body)
    const [status, json] = answer(body, signature)
    console.log(JSON.stringify({ signature, ...JSON.parse(body) }))
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json))
  } catch {
    response.writeHead(400).end()
  }
})
server.on('error', ({ message }) => fail(`${message}; a PORT can be given after DIRECTORY`))
server.listen(Number(port), '127.0.0.1', () => {
  console.log(`listening at https://127.0.0.1:${server.address().port}/wakeup`)
})
