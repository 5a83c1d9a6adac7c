// Goal:   the state of a reader, which lacks what only commands read, gives every answer that the
//         main process's state gives.
// Method: simulated nodes live through bad days, in which every kind of record is made. The log and
//         checkpoints that they leave on disk are read in three ways: as a node does, as a reader
//         does that folds the whole log, and as a reader does that begins with the newest
//         checkpoint. The states are compared by their hashes, and the answers to every read, of
//         every caller, byte by byte.

import assert from 'node:assert/strict'
import t from 'tap'
import { openToAll } from '../../../src/edge/api/access.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routesOf } from '../../../src/forum/routes.ts'
import { State } from '../../../src/forum/state.ts'
import { checkpointSource, checkpointTarget, stateVersion } from '../../../src/kernel/saved.ts'
import { Checkpoints } from '../../../wal/checkpoint/checkpoints.ts'
import { sizeOf, timeoutMs } from '../../depth.ts'
import { hashesOf } from '../../forum/state-hash.ts'
import type { Machine } from '../../simulate/machine.ts'
import { emptyState, folded, simulate } from '../../simulate/simulation.ts'
import { KeptLog, passingWhole, Side } from './follower-pair.ts'

t.setTimeout(timeoutMs)

const seeds = Math.ceil(sizeOf('SIMULATE_SEEDS') / 16)
/** The parts of the state that a node has and a reader lacks. */
const leftOut = /^(facts of )?(receipts|tickets|quotas|invitations)\./
/** The number of ids of each kind, and of callers. */
const idsMax = 5

/** Returns the state of a reader that has read everything the machine left on its disk. */
async function fromCheckpoint(machine: Machine): Promise<{ state: State; loaded: number }> {
  const { disk } = machine
  disk.manual = false
  const quiet = { stateVersion, onNotice: () => {} }
  const checkpoints = new Checkpoints({ disk, dir: '/simulated', ...quiet })
  let state = emptyState(machine, { for: 'reads' })
  const loaded = await checkpoints.load(null, () => {
    state = emptyState(machine, { for: 'reads' })
    return checkpointTarget(state)
  })
  return { state: folded(machine, state), loaded }
}

/** Makes a side that answers reads from this state, as a follower that has every record. */
function sideOf(state: State): Side {
  const side = new Side(new KeptLog(), state)
  side.world.clock.now = state.now
  side.role.follow({ forward: passingWhole(() => {}) })
  return side
}

/** Returns the answer to this request, or `passed on` if the main process must answer it. */
function answerTo(side: Side, method: string, path: string, token: string, query: string) {
  let isPassedOn = false
  side.edge.forward = passingWhole(() => {
    isPassedOn = true
  })
  const { answers } = side.send(method, path, token, query)
  assert.equal(answers.length, isPassedOn ? 0 : 1, `${method} ${path} is answered once`)
  return isPassedOn ? 'passed on' : answers[0]
}

function idsOf({ threads, identities, proposals, messages }: State): string[] {
  const some = (count: number, id: (n: number) => string) =>
    Array.from({ length: Math.min(count, idsMax) }, (_, n) => id(count - 1 - n))
  return [
    ...some(threads.count, (n) => threads.id(n)),
    ...some(identities.count, (n) => identities.id(n)),
    ...some(proposals.count, (n) => proposals.id(n)),
    ...some(messages.count, (n) => `msg_${messages.id(n)}`),
    'thr_00000000000000000000000000000000',
    'interface.md', // of the documents
  ]
}

/** Sends every read of every caller to all sides. Counts the answers by route and status. */
function compareReads(sides: readonly Side[], state: State, tokens: readonly string[]) {
  const counts = new Map<string, number>()
  const ids = idsOf(state)
  const middle = Math.floor(state.position / 2)
  for (const { method, path, name, find, isBatch } of withPages(routes)) {
    // A batch has no answer of its own: test/edge/http/batch-differential.test.ts compares those in
    // it.
    if (find !== undefined || isBatch) continue
    for (const id of path.includes(':') ? ids : ['']) {
      for (const caller of ['', ...tokens.slice(0, idsMax)]) {
        for (const query of ['', 'limit=2', `after=${middle}&limit=3`]) {
          const place = path.replace(/:\w+/, id)
          const [whole, ...readers] = sides.map((side) =>
            answerTo(side, method, place, caller, query),
          )
          for (const each of readers) assert.deepEqual(each, whole, `${place}?${query}`)
          const outcome = typeof whole === 'string' ? whole : whole!.status
          counts.set(`${name} ${outcome}`, (counts.get(`${name} ${outcome}`) ?? 0) + 1)
        }
      }
    }
  }
  return counts
}

// Searches are left out, because these sides have no index: test/forum/search covers them.
const routes = routesOf({ compat: true, search: false, ...openToAll })

t.test('reader: after any life of a node: it holds and answers what the node does', async (t) => {
  const answered = new Map<string, number>()
  let fromCheckpoints = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const { machine, tokens } = await simulate(seed)
    const whole = folded(machine, emptyState(machine))
    const reader = folded(machine, emptyState(machine, { for: 'reads' }))
    const { state: later, loaded } = await fromCheckpoint(machine)
    if (loaded > 0) fromCheckpoints += 1
    const expected = Object.entries(hashesOf(whole)).filter(([name]) => !leftOut.test(name))
    assert.deepEqual(Object.entries(hashesOf(reader)), expected, `seed ${seed}`)
    const sides = [whole, reader, later].map(sideOf)
    for (const [name, count] of compareReads(sides, whole, tokens)) {
      answered.set(name, (answered.get(name) ?? 0) + count)
    }
  }
  t.ok(fromCheckpoints > 0, `${fromCheckpoints} from checkpoints`)
  for (const { method, guarded, name } of routes) {
    if (method === 'get' && guarded !== true) t.ok(answered.get(`${name} 200`), `${name} is read`)
  }
})

t.test('O1: records with keys, tickets and limits: a state for reads keeps none of it', (t) => {
  const state = new State({
    retentionMs: 1,
    seed: 1,
    limits: { messages: { all: 1 } },
    for: 'reads',
  })
  state.receipts.add(0, 'a key of somebody', 'reply', 0, 1)
  state.tickets.issue('nonce', 5, 1)
  state.tickets.use('nonce', 0, 2)
  state.quotas.count('messages', { by: 0, client: '', at: 1 })
  t.strictSame([state.receipts.count, state.tickets.count], [0, 0])
  t.same(state.quotas.facts(), [])
  t.end()
})

t.test('O3, V3: a command on a state for reads, or a checkpoint of it: asserted', (t) => {
  const state = new State({ retentionMs: 1, seed: 1, for: 'reads' })
  const quotaEvent = { by: 0, client: '', at: 1 }
  t.throws(() => state.receipts.find(0, 'key'), /has no receipts/)
  t.throws(() => state.tickets.has('nonce'), /has no tickets/)
  t.throws(() => state.tickets.message('nonce'), /has no tickets/)
  t.throws(() => state.tickets.mayPublish('nonce', 1), /has no tickets/)
  t.throws(() => state.quotas.waitMs('messages', quotaEvent), /has no quotas/)
  t.throws(() => state.quotas.needsClient('messages'), /has no quotas/)
  t.throws(() => checkpointSource(state), /it is whole/)
  t.end()
})
