// The receiver in examples/ when it cannot start, and when a sender hangs up. test/readme.test.ts
// runs it as the documents show it.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { dataDirectory, Program } from '../api/process.ts'

const file = join(import.meta.dirname, '../../../examples/webhook-receiver.mjs')
const isMissing = spawnSync('openssl', ['version']).error !== undefined
const skip = isMissing ? 'openssl is not installed' : false

const receiver = (args: string[], environment?: Record<string, string>) =>
  new Program(args, environment, { file })

/** Resolves to the port on which the receiver reports that it listens. */
async function portOf({ child }: Program): Promise<number> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const [, port] = /^listening at https:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? []
    if (port !== undefined) return Number(port)
  }
  throw new Error('the receiver ended before it listened')
}

async function usedPort(t: Test): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return String((server.address() as { port: number }).port)
}

t.test('receiver: a port in use, no openssl: one sentence, no stack', { skip }, async (t) => {
  const port = await usedPort(t)
  const busy = await receiver([dataDirectory(t), port]).ended
  t.equal(busy.code, 64)
  t.match(busy.stderr, /^listen EADDRINUSE: .*; a PORT can be given after DIRECTORY\n$/)

  const bare = await receiver([dataDirectory(t), '0'], { PATH: '/nonexistent' }).ended
  t.equal(bare.code, 64)
  t.match(bare.stderr, /^openssl has to make a certificate, and did not: .*ENOENT\n$/)
})

t.test(
  'receiver: its help, and what is no directory: a sentence, and nothing is made',
  async (t) => {
    const usage = /^usage: node examples\/webhook-receiver.mjs DIRECTORY \[PORT\]\n$/
    for (const flag of ['--help', '-h']) {
      t.match(await receiver([flag]).ended, { code: 0, stdout: usage, stderr: '' })
    }
    for (const args of [[], ['--port'], ['-p', '1']]) {
      t.match(await receiver(args).ended, { code: 64, stdout: '', stderr: usage })
    }
    t.notOk(['--help', '-h', '--port', '-p'].some((name) => existsSync(name)))
  },
)

t.test('receiver: an incomplete request: the next one is answered', { skip }, async (t) => {
  const directory = dataDirectory(t)
  const program = receiver([directory, '0'])
  t.teardown(() => program.child.kill('SIGKILL'))
  const port = await portOf(program)
  const ca = readFileSync(join(directory, 'certificate.pem'))
  const send = async (lines: string[]) => {
    const socket = connect({ host: '127.0.0.1', port, ca })
    await once(socket, 'secureConnect')
    socket.write(['POST /wakeup HTTP/1.1', 'Host: lab', ...lines].join('\r\n'))
    return socket
  }
  const cut = await send(['Content-Length: 100', '', '{"type":'])
  await new Promise<void>((resolve) => cut.end(resolve))
  cut.destroy()
  const whole = await send(['Content-Length: 2', 'Connection: close', '', '{}'])
  const [answer] = await once(whole, 'data')
  t.match(String(answer), /^HTTP\/1\.1 200 /)
  t.notOk(program.hasEnded)
})
