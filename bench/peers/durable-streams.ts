// The reference server of the Durable Streams protocol over files, which syncs each append before
// it answers: a POST appends one JSON value to a stream, or all values of an array.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Server, startServer } from '../process.ts'
import { peersFolder } from './peer.ts'

export const durableStreams = {
  name: 'durable streams',

  missing(): string | null {
    const isThere = existsSync(join(peersFolder, 'node_modules/@durable-streams/server'))
    return isThere ? null : 'npm ci --prefix .ci/peers'
  },

  async start(parent: string): Promise<Server> {
    const dir = mkdtempSync(join(parent, 'streams-'))
    const server = await startServer([join(import.meta.dirname, 'streams.js'), dir])
    return {
      ...server,
      async stop() {
        await server.stop()
        rmSync(dir, { recursive: true })
      },
    }
  },
}
