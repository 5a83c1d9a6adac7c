import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { postgres } from '../../bench/peers/postgres.ts'
import { redis } from '../../bench/peers/redis.ts'
import { type Population, populate } from '../../bench/population.ts'
import { type Answered, ask } from '../../bench/ring.ts'
import { scenarios } from '../../bench/scenarios.ts'
import { startForum } from '../../bench/sides.ts'

const size = { identities: 60, threads: 20, messages: 1_100, contentBytes: 300 }
const played = scenarios.filter(({ peers }) => peers !== undefined)

// Not every machine has these databases installed.
const needs = (missing: string | null) => (missing === null ? {} : { skip: `without ${missing}` })

async function populated(t: Test): Promise<{ dir: string; population: Population }> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return { dir, population: await populate(join(dir, 'data'), size) }
}

const noHttp = () => {
  throw new Error('redis is not sent HTTP requests')
}

t.test('bench: redis: started: does what it is compared in', needs(redis.missing()), async (t) => {
  const { dir, population } = await populated(t)
  const peer = await redis.start(dir, population, 'always')
  t.teardown(() => peer.stop())
  for (const { name } of played) {
    const side = peer.side(name, noHttp)
    const { requests, errors } = await side.load({ connections: 2, seconds: 0.01 }, 0)
    t.equal(errors, 0, name)
    t.ok(requests > 0, name)
  }
})

/** Returns the status of an answer, the names of its fields and its number of messages. */
function shape({ status, body }: Answered): object {
  const { messages, ...rest } = JSON.parse(body)
  return { status, fields: Object.keys(rest).sort(), messages: messages?.length }
}

t.test(
  'bench: postgres: started: answers the same requests, with the same kind of answers',
  needs(postgres.missing()),
  async (t) => {
    const { dir, population } = await populated(t)
    const forum = await startForum(join(dir, 'data'), ['--durability', 'none'])
    t.teardown(() => forum.stop())
    const peer = await postgres.start(tmpdir(), population, 'always')
    t.teardown(() => peer.stop())
    for (const { name, ring } of played) {
      const filling = { prefix: `test-${name}-`, position: 0 }
      const [ofForum] = await ask(forum.url, ring(population), filling, 1)
      const [ofPeer] = await ask(peer.url!, ring(population), filling, 1)
      const [again] = await ask(peer.url!, ring(population), filling, 1)
      t.match(shape(ofForum), shape(ofPeer), name)
      if (name === 'reply') {
        t.equal(again.status, 200, 'the same key again: a replay')
        t.equal(JSON.parse(again.body).message_id, JSON.parse(ofPeer.body).message_id)
      }
    }
  },
)
