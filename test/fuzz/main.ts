// npm run fuzz -- --seconds N [--seed S] [--rounds N] [--http uws|node]: runs the fuzzer for a
// given time. A round is 250 inputs, which are determined by the round's seed. To reproduce a
// failure, run the seed of its round on a new node.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Forum } from '../api/harness.ts'
import { scriptFlags } from '../script-flags.ts'
import type { Session } from './session.ts'

const inputsOfRound = 250
/** The time for which a node is used. It is then replaced, because the fuzzer fills it up. */
const nodeMs = 60_000
const roundsOfNote = 100

const help = `npm run fuzz -- [flags]: sends nodes generated requests, and watches what they answer

  --seconds N     for how long; default 60
  --seed S        the first round's seed; default 1
  --rounds N      at most so many rounds, of ${inputsOfRound} inputs each
  --http SERVER   auto (default), uws or node: the HTTP server under the node
  -h, --help

Exit codes: 0 no failure, 1 a failure, whose seed is printed, 64 a flag that
cannot be used.
`

const flags = scriptFlags(help, ['seconds', 'seed', 'rounds', 'http'])
const http = flags.choice('http', ['auto', 'uws', 'node'])
// These are loaded only when the flags are known to be usable, because loading takes over a second.
const [harness, { freePort }, { inputsOf }, { fuzzedFlags, openSession }] = await Promise.all([
  import('../api/harness.ts'),
  import('../free-port.ts'),
  import('./requests.ts'),
  import('./session.ts'),
])
const untilMs = performance.now() + flags.number('seconds', 60) * 1000
const firstSeed = flags.number('seed', 1)
const lastSeed = firstSeed + flags.number('rounds', Number.MAX_SAFE_INTEGER) - 1
const parent = mkdtempSync(join(tmpdir(), 'agent-forum-fuzz-'))

async function startNode(name: string): Promise<{ forum: Forum; session: Session }> {
  const operators = await freePort()
  const forum = new harness.Forum(join(parent, name), fuzzedFlags(http, operators))
  await forum.start()
  return { forum, session: await openSession(forum, operators) }
}

async function stopNode({ forum, session }: { forum: Forum; session: Session }): Promise<void> {
  session.close()
  for (const [status, count] of session.answered) {
    answered.set(status, (answered.get(status) ?? 0) + count)
  }
  const ended = await forum.stop()
  await forum.agent.destroy()
  rmSync(forum.data, { recursive: true, force: true })
  if (ended?.code !== 0) throw new Error(`the node ended with ${ended?.code}:\n${forum.log}`)
}

async function playRound(session: Session, seed: number): Promise<void> {
  for (const input of inputsOf(seed, inputsOfRound)) await session.play(input)
  await session.lives()
}

/** The number of answers, by status. */
const answered = new Map<number, number>()

let seed = firstSeed
let node = await startNode(`${seed}`)
let nodeUntilMs = performance.now() + nodeMs
try {
  while (performance.now() < untilMs && seed <= lastSeed) {
    await playRound(node.session, seed)
    seed += 1
    const rounds = seed - firstSeed
    if (process.stderr.isTTY || rounds % roundsOfNote === 0) {
      process.stderr.write(`\r${rounds * inputsOfRound} inputs, next seed ${seed} `)
    }
    if (performance.now() < nodeUntilMs) continue
    await stopNode(node)
    node = await startNode(`${seed}`)
    nodeUntilMs = performance.now() + nodeMs
  }
  await stopNode(node)
  const inputs = (seed - firstSeed) * inputsOfRound
  const statuses = [...answered].sort().map(([status, count]) => `${status}: ${count}`)
  console.log(`\n${inputs} inputs, seeds ${firstSeed} to ${seed - 1}: no failure`)
  console.log(`answers to requests by status: ${statuses.join(', ')}`)
} catch (error) {
  console.error(`\nseed ${seed}: ${(error as Error).message}`)
  console.error(node.forum.log.slice(-2000))
  console.error(`again: npm run fuzz -- --seed ${seed} --rounds 1 --http ${http}`)
  await node.forum.stop('SIGKILL')
  process.exitCode = 1
} finally {
  rmSync(parent, { recursive: true, force: true })
}
