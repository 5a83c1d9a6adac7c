// A whole node in its own process, which kills itself at a crash point (crash-disk.ts): before or
// after a disk operation or a post to a webhook. Arguments: the data directory, and the crash point
// as JSON or "null". Each line on stdout is written before the next step and is JSON with one of
//
//   url        the URL at which the node serves     wakeup     the body of a post to a webhook
//   steps      the number of steps of each kind that had begun when the node was stopped
//
// SIGUSR2 takes a checkpoint, SIGTERM stops the node.

import { writeSync } from 'node:fs'
import pino from 'pino'
import { parseConfig } from '../../src/config/config.ts'
import type { Send } from '../../src/forum/webhooks/send.ts'
import { startNode } from '../../src/node/server.ts'
import { Crash, crashingDisk } from './crash-disk.ts'

const [data, point] = process.argv.slice(2)
const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`)
const crash = new Crash(JSON.parse(point))

const send: Send = async ({ body, eventId }) => {
  const { type, challenge, after, through } = JSON.parse(body)
  if (type === 'webhook.challenge') {
    return { status: 200, error: null, body: JSON.stringify({ challenge }) }
  }
  crash.around('send wakeup', () => say({ wakeup: { eventId, after, through } }))
  return { status: 204, error: null, body: '' }
}

const flags = ['--webhook-allow-private', '--text-memory-mb', '1']
const config = parseConfig(['--data', data, '--port', '0', ...flags], {})
const log = pino({ level: 'silent' })
const environment = { disk: crashingDisk(crash), segmentBytes: 64 * 1024, send }
const node = await startNode(config, '0.0.0', log, environment)
node.failed.catch(() => process.exit(74))
process.on('SIGUSR2', () => void node.takeCheckpoint())
process.on('SIGTERM', async () => {
  await node.stop()
  say({ steps: Object.fromEntries(crash.steps) })
  process.exit(0)
})
say({ url: node.url })
