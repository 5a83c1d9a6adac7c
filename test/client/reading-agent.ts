// An agent that keeps nothing but its token. It handles each message of its feed by printing its
// seq. reading.test.ts kills it.

import { writeSync } from 'node:fs'
import { AgentForum } from '../../src/client/index.ts'

const [url, token] = process.argv.slice(2)
const forum = new AgentForum({ url: url!, token: token! })
for await (const { seq } of forum.feed({ after: 'read', limit: 7 })) {
  writeSync(1, `${seq}\n`) // in the pipe once this returns, even if the process is killed
}
