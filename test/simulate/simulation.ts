// Goal:   whatever the disk, the power supply, the clock, receivers and callers do, no answer is
//         ever taken back, a write without an answer takes effect completely or not at all, and the
//         node starts again.
// Method: one seed is several lives of one whole node (node/server.ts) on one simulated machine. A
//         life is a few dozen steps in random order: callers send requests, the event loop
//         iterates, the disk completes operations, receivers answer, time passes. It ends in a loss
//         of power, a kill, a failed sync or a clean stop, often in the middle of an operation,
//         sometimes during a recovery. A model predicts the answer to every request; after every
//         start the state is compared with the fold of the log, and everything is read and compared
//         with the model. At the end, every pending delivery is made, and what callers saw of
//         threads and their claims must be explained by one order (test/histories/), which uses no
//         model.

import assert from 'node:assert/strict'
import { pack, unpack } from 'msgpackr'
import { apply } from '../../src/forum/apply.ts'
import { decode, encode } from '../../src/forum/records.ts'
import { State, type StateOptions } from '../../src/forum/state.ts'
import { assertIsFold, isBeingSaved, keySeedOf } from '../forum/contents.ts'
import { hourMs } from '../forum/doubles.ts'
import { stateHash } from '../forum/state-hash.ts'
import { digestOf } from '../wal/helpers.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { Machine } from './machine.ts'
import { finishParked, forgetParked } from './parked.ts'
import { settled } from './virtual-time.ts'
import { Workload } from './workload.ts'

const few = { messages: { identity: 12, address: 20 }, mentions: { identity: 5 } }
const fewer = { tickets: { address: 4, all: 9 }, governance: { all: 6, identity: 3 } }
const some = {
  webhooks: { identity: 3 },
  verifications: { identity: 2 },
  tickets: { address: 20 },
  identities: { address: 5 },
}
const limits = [{}, {}, few, fewer, some]
const retentionDaysMax = 9
const livesMax = 5
const stepsMax = 70
const longStepsMax = 300

export interface Simulated {
  records: number
  lives: number
  outcomes: Map<string, number>
}

/** The result of a simulation, for further checks. */
export interface Left extends Simulated {
  /** The machine, whose disk holds the log and the checkpoints. */
  machine: Machine
  /** The tokens of the identities that callers know. */
  tokens: readonly string[]
}

/** Simulates one seed. Throws at the first difference from the model. */
export async function simulate(
  seed: number,
  trace: (line: () => string) => void = () => {},
): Promise<Left> {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1))
  const mode = random()
  const durability = mode < 0.85 ? 'always' : mode < 0.93 ? 'interval:50' : 'none'
  const chosen = limits[Math.floor(random() * limits.length)]
  const retentionDays = random() < 0.3 ? 1 + Math.floor(random() * retentionDaysMax) : 0
  const isMembersOnly = random() < 0.2
  const options = { limits: chosen, durability, retentionDays, isMembersOnly }
  const machine = new Machine(random, options, trace)
  const callers = new Workload(machine)
  machine.time.enter()
  try {
    const lives = 2 + machine.below(livesMax - 1)
    for (let life = 1; life <= lives; life++) await live(machine, callers)
    await deliverAll(machine, callers)
    assert.equal(foldedHash(machine), foldedHash(machine), 'one log folds to one state')
    // A loss of power may take back what was shown in the other modes.
    if (durability === 'always') checkSeen(machine)
    trace(() => `the disk has ${digestOf(machine.disk)}`)
    const { facts, outcomes } = machine
    const tokens = callers.tokens.map(({ token }) => token)
    return { records: facts.length, lives, outcomes, machine, tokens }
  } finally {
    machine.time.leave()
  }
}

async function live(machine: Machine, callers: Workload): Promise<void> {
  await comeUp(machine)
  await readAndRetry(machine, callers)
  // Only text that a checkpoint has saved is ever read from disk again.
  if (machine.chance(machine.isVast ? 0.8 : 0.3)) await checkpointInFull(machine)
  if (machine.chance(0.15)) machine.disk.failSync(1 + machine.below(25))
  if (machine.chance(0.3)) machine.disk.freezeAfter(machine.below(120))
  machine.disk.shortWrites = machine.chance(0.2)
  const quiet = machine.chance(0.1) ? 1 : 0
  const steps = 5 + machine.below(machine.chance(0.15) ? longStepsMax : stepsMax)
  for (let step = steps; step > 0 && machine.isUp; step--) {
    await takeStep(machine, callers, quiet)
  }
  if (machine.isUp && machine.chance(0.4)) await rest(machine, callers)
  if (machine.isUp && machine.chance(0.3)) await checkpointInPart(machine)
  if (machine.isUp && machine.chance(0.2)) await machine.stop()
  machine.disk.capacityBytes = Number.POSITIVE_INFINITY
  machine.crash(machine.chance(0.6) ? 'power' : 'kill')
  callers.forget()
  stepTheClock(machine)
}

async function readAndRetry(machine: Machine, callers: Workload): Promise<void> {
  callers.readAll()
  await finishParked(machine)
  callers.tryAllAgain()
  await finishParked(machine)
}

/** Starts the node, possibly after a few starts that a crash interrupts. */
async function comeUp(machine: Machine): Promise<void> {
  forgetParked(() => machine.count('parked for text on disk'))
  for (let cuts = machine.chance(0.5) ? 1 + machine.below(2) : 0; cuts > 0; cuts--) {
    if (machine.chance(0.3)) machine.disk.failSync(1 + machine.below(6))
    else machine.disk.freezeAfter(machine.below(30))
    await machine.start()
    machine.crash(machine.chance(0.5) ? 'power' : 'kill')
  }
  assert.ok(await machine.start(), `it starts without an operator: ${machine.failure}`)
  const { state } = machine
  if (isBeingSaved(state)) return
  const fold = folded(machine, emptyState(machine, { seed: keySeedOf(state) }))
  assertIsFold(state, fold, 'a start from a checkpoint and the log after it')
  machine.count('restart: its state is the fold of its log')
}

async function takeStep(machine: Machine, callers: Workload, quiet: number): Promise<void> {
  const { disk, time } = machine
  const drawn = machine.below(24)
  if (drawn < 8 - 6 * quiet) {
    for (let n = machine.below(machine.isVast ? 20 : 3); n >= 0 && machine.isUp; n--) {
      callers.act()
      if (machine.chance(0.5)) await finishParked(machine)
    }
  } else if (drawn < 12) await time.turn()
  else if (drawn < 18) {
    for (let n = machine.below(8); n > 0 && disk.pending > 0; n--) {
      disk.completeOne()
      await settled()
    }
  } else if (drawn < 20) await callers.receivers.answerOne(0.7)
  else if (drawn < 21) await time.advance(pauseOf(machine))
  else if (drawn < 23) void machine.checkpoint()
  else [stepTheClock, changeCapacity, () => {}][machine.below(3)](machine)
  await settled()
  callers.check()
}

/** Returns how long nothing happens: with a retention of days, sometimes a day or more. */
function pauseOf(machine: Machine): number {
  const { retentionDays } = machine.config
  if (retentionDays > 0 && machine.chance(0.3)) return (1 + machine.below(50)) * hourMs
  return [1, 250, 1000, 60_000, 400_000][machine.below(5)]
}

async function checkpointInFull(machine: Machine): Promise<void> {
  let isOver = false
  machine.checkpoint().then(() => {
    isOver = true
  })
  await machine.until(() => isOver)
}

/** Lets the node finish what it can while no caller acts; a disk that hangs prevents it. */
async function rest(machine: Machine, callers: Workload): Promise<void> {
  const { time, disk } = machine
  for (let steps = 500; steps > 0 && machine.isUp; steps--) {
    await settled()
    if (time.isBusy) await time.turn()
    else if (disk.pending > 0) disk.completeOne()
    else break
  }
  callers.check()
}

/** Begins a checkpoint, and lets it proceed for a random number of steps. */
async function checkpointInPart(machine: Machine): Promise<void> {
  void machine.checkpoint()
  for (let steps = machine.below(40); steps > 0; steps--) {
    if (machine.time.isBusy && machine.chance(0.5)) await machine.time.turn()
    else if (machine.disk.pending > 0) machine.disk.completeOne()
    await settled()
  }
}

/** Sets the wall clock: an hour back, up to eight days ahead, or occasionally ten years ahead. */
function stepTheClock(machine: Machine): void {
  const hours = [-1, 0, 0, 0.02, 1, 26, 24 * 8][machine.below(7)]
  machine.lifetimes.setClock((machine.chance(0.02) ? 24 * 3652 : hours) * hourMs)
}

function changeCapacity(machine: Machine): void {
  const { disk } = machine
  const used = [...disk.contents().values()].reduce((sum, { length }) => sum + length, 0)
  const isFull = Number.isFinite(disk.capacityBytes)
  disk.capacityBytes = isFull ? Number.POSITIVE_INFINITY : used + machine.below(3) * 4096
}

/** Runs without faults until every message has been announced and nothing waits any longer. */
async function deliverAll(machine: Machine, callers: Workload): Promise<void> {
  await comeUp(machine)
  const { webhooks } = machine.model
  const open = () =>
    webhooks.all.filter((webhook) => {
      const { isGone, deliveries, announced } = webhook
      const isOpen = deliveries.some(({ state }) => state === 'pending' || state === 'sending')
      const news = webhooks.news(webhook, announced, machine.forumTime)
      return !isGone && (isOpen || news.length > 0)
    })
  for (let rounds = 0; open().length > 0; rounds++) {
    assert.ok(rounds < 20_000, 'pending deliveries are made')
    await callers.receivers.answerOne(1)
    if (machine.time.isBusy) await machine.time.turn()
    else if (machine.disk.pending > 0) machine.disk.completeOne()
    else if (machine.calling.length === 0) await machine.time.advance(30_000)
    await settled()
  }
  if (machine.isVast) await checkpointInFull(machine) // so that the full pages leave memory
  await readAndRetry(machine, callers)
  await machine.lifetimes.expireAll(() => rest(machine, callers))
  await rest(machine, callers)
  callers.readAll()
  await finishParked(machine)
  await rest(machine, callers)
  await machine.stop()
  machine.crash('kill')
}

function checkSeen(machine: Machine): void {
  const { appends, reads } = machine.seen.history
  // The history must end with a read of every thread.
  const keepsThreads = machine.config.retentionDays === 0
  if (keepsThreads) assert.deepEqual(machine.seen.history.contradictions(), [])
  assert.deepEqual(machine.seenClaims.history.contradictions(), [])
  for (const { what } of machine.seenClaims.history.observations) {
    machine.count(`history: a claim: ${what.is}`)
  }
  for (const { what, answeredAt } of machine.seenClaims.history.commands.values()) {
    const isKnown = answeredAt < Number.POSITIVE_INFINITY
    machine.count(`history: a ${what.is}${isKnown ? '' : ' without an answer'}`)
  }
  for (const _ of reads) machine.count('history: a read')
  for (const { id } of appends.values()) {
    machine.count(id === null ? 'history: an append without an answer' : 'history: an append')
  }
}

/** Returns the hash of the state to which the surviving records fold. */
function foldedHash(machine: Machine): string {
  return stateHash(folded(machine, emptyState(machine)))
}

/** Returns an empty state with the limits of this machine. */
export function emptyState({ config }: Machine, options: Partial<StateOptions> = {}): State {
  return new State({ retentionMs: 24 * hourMs, seed: 1, limits: config.limits, ...options })
}

/** Applies all surviving records after the state's position to the state, and returns it. */
export function folded({ facts }: Machine, state: State): State {
  for (const { position, record } of facts.slice(state.position)) {
    apply(state, position, decode(unpack(pack(encode(record)))))
  }
  return state
}
