// A process that holds waiting polls. It uses a raw socket for each, because a client library would
// need more memory than the server. Its parent sends it orders over the channel of child_process,
// and receives reports:
//
//   order    { host, port, from, tokens, after }   one poll for each token
//   report   { told: [[id, at], …] }     the first item of each answer, and when it came
//
// An answered poll is sent again from its `next_after`. Times are those of the machine's monotonic
// clock, in milliseconds, which all processes share.

import { connect } from 'node:net'

export interface WaitingOrder {
  host: string
  port: number
  /** The address to connect from: each has its own range of ports. */
  from: string
  tokens: readonly string[]
  after: number
}

export type WaitingReport = { told: [id: string, at: number][] } | { failed: string }

/** Answers are reported together, because a message to the parent costs more than reading them. */
const reportEveryMs = 20
/** The number of connections that are opened at once, fewer than the server's backlog. */
const openingMax = 64

/** Returns the time of the machine's monotonic clock in milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

let told: [id: string, at: number][] = []

function reportTold(): void {
  if (told.length > 0) report({ told })
  told = []
}

function report(message: WaitingReport): void {
  process.send!(message)
}

/** Opens a connection that polls again after each answer; resolves when the first poll is sent. */
function hold({ host, port, from }: WaitingOrder, token: string, after: number): Promise<void> {
  const socket = connect({ host, port, localAddress: from, noDelay: true })
  const poll = (after: number) => {
    socket.write(
      `GET /api/notifications?after=${after}&wait=50 HTTP/1.1\r\nHost: forum\r\n` +
        `Authorization: Bearer ${token}\r\n\r\n`,
    )
  }
  let received = ''
  let cursor = after
  socket.setEncoding('latin1').on('data', (text: string) => {
    const at = monotonicMs()
    received += text
    const length = /\r\nContent-Length: (\d+)\r\n/i.exec(received)?.[1]
    const end = received.indexOf('\r\n\r\n')
    if (end === -1 || received.length < end + 4 + Number(length)) return
    const id = /"message_id":"(\w+)"/.exec(received)?.[1]
    if (id !== undefined) told.push([id, at])
    cursor = Number(/"next_after":(\d+)/.exec(received)?.[1] ?? cursor)
    received = ''
    poll(cursor)
  })
  socket.on('error', (error) => report({ failed: error.message }))
  return new Promise((resolve) => {
    socket.once('connect', () => {
      poll(after)
      resolve()
    })
  })
}

async function holdAll(order: WaitingOrder): Promise<void> {
  const left = [...order.tokens]
  const lane = async () => {
    for (let token = left.pop(); token !== undefined; token = left.pop()) {
      await hold(order, token, order.after)
    }
  }
  await Promise.all(Array.from({ length: openingMax }, lane))
}

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on('message', (order: WaitingOrder) => void holdAll(order))
  setInterval(reportTold, reportEveryMs)
  process.on('disconnect', () => process.exit(0))
}
