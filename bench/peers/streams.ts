// The server of Durable Streams as a program. Its argument is the directory for its files.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { peersFolder } from './peer.ts'

const { DurableStreamTestServer } = createRequire(join(peersFolder, 'package.json'))(
  '@durable-streams/server',
)
const [dataDir] = process.argv.slice(2)
const server = new DurableStreamTestServer({ port: 0, host: '127.0.0.1', dataDir })
const url: string = await server.start()
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.once('SIGTERM', () => process.exit(0))
