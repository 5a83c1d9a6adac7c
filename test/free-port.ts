// Ports of 127.0.0.1 for servers that begin to listen later, or listen again after a restart.
//
//   20000  block  20050  block  20100  …  32000  … 32768  ephemeral ports: the system gives them
//   └ held by the process that owns the block, and released with it
//
// P1. Nobody else takes a port meanwhile: it is not an ephemeral port, and a process takes ports
//     only from blocks of its own. A process owns a block while it listens on the block's first
//     port.
// P2. A port is given out once.

import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

const firstPort = 20_000
const blockPorts = 50
const blockCount = 240

/** The servers with which this process holds its blocks. */
const held: Server[] = []
/** The remaining ports of the newest block. */
let left: number[] = []
let giving: Promise<unknown> = Promise.resolve()

/** Returns a free port, which stays free until the caller listens on it (P1, P2). */
export function freePort(): Promise<number> {
  const given = giving.then(give)
  giving = given.catch(() => {})
  return given
}

async function give(): Promise<number> {
  for (;;) {
    const port = left.shift()
    if (port === undefined) left = await takeBlock()
    else if (await isFree(port)) return port
  }
}

/** Takes a block, which this process owns from now on, and returns its ports. */
async function takeBlock(): Promise<number[]> {
  const begin = Math.floor(Math.random() * blockCount)
  for (let n = 0; n < blockCount; n++) {
    const port = firstPort + ((begin + n) % blockCount) * blockPorts
    const holder = await listening(port)
    if (holder === null) continue
    held.push(holder.unref())
    return Array.from({ length: blockPorts - 1 }, (_, i) => port + 1 + i)
  }
  throw new Error('every block of ports is taken')
}

async function isFree(port: number): Promise<boolean> {
  const server = await listening(port)
  if (server === null) return false
  server.close()
  await once(server, 'close')
  return true
}

/** Resolves to a server on this port, or to null if the port is taken. */
function listening(port: number): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('listening', () => resolve(server)).once('error', () => resolve(null))
    server.listen(port, '127.0.0.1')
  })
}
