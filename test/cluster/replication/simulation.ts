// Goal:   whatever disks, power supplies, the network and the engine between two nodes do,
//         everything that the nodes acknowledge and show belongs to one history, their states are
//         the fold of that history, and no deciding node denies what exists.
// Method: one seed is some hundred steps of two whole nodes in one process, a leader and a standby,
//         on simulated disks, with a simulated engine between them (simulated-engine.ts). In random
//         order callers send requests, the event loop iterates, disks and the engine complete
//         operations, time passes; nodes crash and start again, links are cut, messages are lost or
//         late, processes are stopped, clocks are set, the engine has no majority or no room. In
//         some seeds each node has a reader (simulated-reader.ts). Then everything is
//         repaired, both nodes recover, and the answers and pages that callers received are
//         compared (sightings.ts), and the states of both nodes with the fold of the raw stream.
//         The state of each node that begins to lead is compared with that fold as well.
//         A webhook must have received every wakeup (simulated-receiver.ts).
//         Where a disaster may have lost what was shown, even the callers themselves, only the
//         states are compared.

import assert from 'node:assert/strict'
// A start loads these modules only when they are needed; here loading them must not take time.
import '../../../src/cluster/readers/readers.ts'
import '../../../src/cluster/replication/replication.ts'
import type { State } from '../../../src/forum/state.ts'
import { assertIsFold, isBeingSaved } from '../../forum/contents.ts'
import { hashesOf } from '../../forum/state-hash.ts'
import type { Simulated } from '../../simulate/simulation.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { digestOf } from '../../wal/helpers.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { foldOf, recoveredState, withoutKeys } from './folded.ts'
import type { Final } from './sightings.ts'
import { SimulatedCallers } from './simulated-callers.ts'
import { Disasters } from './simulated-disasters.ts'
import { SimulatedEngine } from './simulated-engine.ts'
import { ttlSeconds } from './simulated-mortals.ts'
import { data, SimulatedNode, type World } from './simulated-node.ts'
import { SimulatedReceiver } from './simulated-receiver.ts'

const begins = Date.UTC(2026, 8, 20)
const stepsMin = 150
const stepsMax = 600
const drivenStepsMax = 60_000
/** What the wall clock of a node may be ahead by, in ms. */
const clocks = [0, -3_600_000, -20_000, 20_000, 3_600_000]
/** The number of steps after which a refused request is sent again. */
const askAgain = 500

/** The event loop of the machine itself, which loads modules. */
const realImmediate = setImmediate

class Simulation {
  readonly world: World
  readonly nodes: readonly SimulatedNode[]
  readonly callers: SimulatedCallers
  /** The probability of a fault in each step. */
  readonly faultRate: number
  readonly disasters: Disasters
  readonly disasterRate: number
  /** The iterations of the event loop in a step: with readers, requests take several. */
  readonly turns: number = 1

  constructor(random: () => number, world: World) {
    this.world = world
    this.faultRate = [0, 0.02, 0.05][Math.floor(random() * 3)]!
    this.disasterRate = random() < 0.2 ? 0.005 : 0
    const url = 'nats://simulated:4222'
    const hasReaders = random() < 0.4
    if (hasReaders) this.turns = 3
    const beside = ['--standby', ...(hasReaders ? ['--readers', '1', '--no-search'] : [])]
    this.nodes = [
      new SimulatedNode(world, 'first', ['--replicate', url, ...beside]),
      new SimulatedNode(world, 'second', ['--follow', url, ...beside]),
    ]
    this.disasters = new Disasters(world, this.nodes)
    this.callers = new SimulatedCallers(world, this.nodes, () => this.disasters.count > 0)
  }

  get mayLose(): boolean {
    return this.disasters.mayLose
  }

  below(count: number): number {
    return Math.floor(this.world.random() * count)
  }

  chance(of: number): boolean {
    return this.world.random() < of
  }

  async run(): Promise<void> {
    const [first, second] = this.nodes as [SimulatedNode, SimulatedNode]
    first.start()
    if (this.chance(0.8)) await this.until('the first node to serve', () => first.isUp)
    second.start()
    const steps = stepsMin + this.below(stepsMax - stepsMin)
    for (let step = 0; step < steps; step++) {
      await this.step()
      this.restartFailed()
      this.compareLeaders()
    }
    await this.mend()
    if (this.chance(0.3)) await this.letExpire()
    this.compareLeaders()
    if (!this.mayLose) await this.wakeUp()
    await this.compare()
  }

  async step(): Promise<void> {
    const { time, engine, receiver } = this.world
    const drawn = this.below(24)
    if (this.chance(0.1)) receiver.answerOne()
    if (this.chance(this.disasterRate)) this.disasters.strike()
    else if (this.chance(this.faultRate)) this.fault()
    else if (this.chance(0.01)) for (const node of this.nodes) node.goOn()
    else if (drawn < 6) for (let n = this.below(6); n >= 0; n--) this.callers.act()
    else if (drawn < 11) for (let n = this.turns; n > 0; n--) await time.turn()
    else if (drawn < 15) {
      const node = this.nodes[this.below(2)]!
      for (let n = this.below(16); n > 0; n--) {
        node.completeOne()
        await settled()
      }
    } else if (drawn < 21) {
      for (let n = this.below(12); n > 0; n--) {
        engine.completeOne()
        await settled()
      }
    } else if (drawn < 23)
      await time.advance([1, 20, 100, 500, 2_000, 6_000, 20_000][this.below(7)]!)
    else if (this.chance(0.2)) this.nodes[this.below(2)]!.checkpoint()
    await settled()
  }

  fault(): void {
    const { engine, trace } = this.world
    const node = this.nodes[this.below(2)]!
    const faults: Record<string, () => void> = {
      'power is cut': () => this.crash(node, 'power'),
      killed: () => this.crash(node, 'kill'),
      starts: () => node.isAlive || node.start(),
      'link cut': () => cut(node, true),
      // If the node leads, its log then has records that the stream may never get.
      'link cut under writes': () => {
        cut(node, true)
        for (let n = this.below(6); n >= 0; n--) this.callers.act(node)
      },
      'stopped or goes on': () => (node.isStopped ? node.goOn() : node.halt()),
      'reader killed': () => node.reader?.kill(),
      'reader stopped or goes on': () => {
        const { reader } = node
        reader?.isStopped ? reader.goOn() : reader?.halt()
      },
      'clocks apart': () => node.setAhead(clocks[this.below(clocks.length)]!),
      'link open': () => cut(node, false),
      'reads break': () => node.stream?.breakReads(),
      'majority gone or back': () => {
        engine.isAvailable = !engine.isAvailable
      },
      losses: () => {
        engine.lossRate = [0, 0, 0.05, 0.2][this.below(4)]!
      },
      'repeated requests or not': () => {
        engine.repeatRate = [0, 0.1, 0.3][this.below(3)]!
      },
      'late answers or not': () => {
        engine.staleRate = [0, 0.1, 0.5][this.below(3)]!
      },
      'full or not': () => engine.changeCapacity(),
    }
    const names = Object.keys(faults)
    const what = names[this.below(names.length)]!
    trace(() => `fault: ${node.name}: ${what}`)
    engine.count(`fault: ${what}`)
    faults[what]!()
  }

  crash(node: SimulatedNode, how: 'power' | 'kill'): void {
    if (node.isAlive) node.crash(how)
  }

  /** Acts as a supervisor: a process that has ended starts again. */
  restartFailed(): void {
    this.disasters.help()
    for (const node of this.nodes) {
      if (node.failure === null) continue
      node.crash('kill')
      node.start()
    }
  }

  /** Ends all faults, and waits until one node leads and the other has followed it to the end. */
  async mend(): Promise<void> {
    const { engine, trace } = this.world
    trace(() => 'everything is mended')
    engine.mend()
    for (const node of this.nodes) {
      cut(node, false)
      node.setAhead(0)
      node.reader?.goOn()
      node.goOn()
      if (!node.isAlive) node.start()
    }
    const { callers } = this
    await this.until('a leader', async () =>
      (await this.statuses()).some(({ role }) => role === 'leader'),
    )
    for (const node of this.mayLose ? [] : this.nodes) {
      await this.until(`writes through ${node.name}`, () => {
        if (callers.arePrepared && !callers.areOpen) return true
        // More requests than can be answered would wait for one another.
        if (this.chance(0.02)) callers.arePrepared ? callers.tryAgain(node) : callers.act()
        return false
      })
    }
    await this.meet()
  }

  /** Waits until both nodes are at one position. */
  meet(): Promise<void> {
    return this.until('both nodes at one position', async () => {
      const [one, two] = await this.statuses()
      return one?.position === two?.position && one?.epoch === two?.epoch && one?.role !== two?.role
    })
  }

  /** Lets threads expire, while callers go on. */
  async letExpire(): Promise<void> {
    const end = performance.now() + 1000 * ttlSeconds
    await this.until('threads to expire', () => {
      if (this.callers.arePrepared && this.chance(0.02)) this.callers.useMortals()
      return performance.now() > end
    })
    await this.meet()
  }

  /** Waits until every wakeup has been delivered: none may be forgotten in a takeover. */
  async wakeUp(): Promise<void> {
    const { receiver } = this.world
    if (!receiver.isActive) return
    receiver.acceptRate = 1
    let areDelivered = false
    let steps = 0
    await this.until('all wakeups', () => {
      if (steps++ % 100 !== 0) return areDelivered
      for (const node of this.nodes) {
        this.callers.whetherAllDelivered(node, (all) => {
          areDelivered = all
        })
      }
      return areDelivered
    })
    this.world.count('wakeups: all delivered')
  }

  /** Returns the content of /api/status at the nodes that answer. */
  async statuses(): Promise<{ role: string; position: number; epoch: string }[]> {
    const found: { role: string; position: number; epoch: string }[] = []
    for (const node of this.nodes) {
      if (!node.isUp) continue
      node.ask({ method: 'get', path: '/api/status', address: '10.0.0.2' }, (status, body) => {
        if (status === 200) found.push(JSON.parse(body))
      })
      for (let turns = 0; turns < 4; turns++) await this.world.time.turn()
    }
    return found
  }

  /**
   * Compares the state of each node that has begun to lead with the fold of the stream, once the
   * stream has all of it.
   */
  compareLeaders(): void {
    if (this.disasters.count > 0) return
    const { everything } = this.world.engine
    for (const node of this.nodes.filter(({ leads, isCompared }) => leads && !isCompared)) {
      const { state } = node
      const isThere = state !== null && (everything.at(-1)?.last ?? 0) >= state.position
      if (!isThere || isBeingSaved(state)) continue
      assertIsFold(state, foldOf(everything, state), `${node.name} has begun to lead`)
      node.isCompared = true
      this.world.count('takeover: the state is the fold of the stream')
    }
  }

  async compare(): Promise<void> {
    if (!this.mayLose) await this.compareHistory()
    const { engine } = this.world
    for (const node of this.nodes) {
      let isOver = false
      let stopping = 0
      const over = () => {
        isOver = true
      }
      // A node that learns meanwhile that it was replaced starts again, and is stopped then.
      await this.until(`${node.name} to stop`, () => {
        if (node.isUp && stopping !== node.life) {
          stopping = node.life
          node.stop(over)
        }
        return isOver
      })
      node.crash('kill')
    }
    for (const { name, disk } of this.nodes) {
      this.world.trace(() => `the disk of ${name} has ${digestOf(disk)}`)
    }
    const states: State[] = []
    for (const node of this.nodes) {
      const state = await this.driven(recoveredState(data, node.disk))
      states.push(state)
      if (this.disasters.count > 0) continue
      const folded = foldOf(engine.everything, state)
      assert.deepEqual(
        hashesOf(state),
        hashesOf(folded),
        `${node.name} is what the stream folds to`,
      )
    }
    // The node that was stopped last may have led meanwhile, in a term of its own.
    const [first, second] = states as [State, State]
    if (first.position !== second.position) return engine.count('compare: at other positions')
    const hashes = states.map((state) => withoutKeys(hashesOf(state)))
    assert.deepEqual(hashes[0], hashes[1], 'both nodes have one state')
  }

  async compareHistory(): Promise<void> {
    const finals = new Map<string, Final>()
    const { lists } = this.callers // the same at both nodes, even if a thread is answered meanwhile
    let looks = 0
    await this.until('all pages', () => {
      for (const node of looks++ % askAgain === 0 ? this.nodes : []) {
        if (!finals.has(node.name))
          this.callers.readAll(node, lists, (final) => finals.set(node.name, final))
      }
      return finals.size === 2
    })
    const { seen, claimers, people, mortals } = this.callers
    assert.deepEqual(seen.differences(finals), [])
    assert.deepEqual(claimers.differences(finals.get('first')!), [])
    const { ended } = people
    await this.meet()
    for (const node of this.nodes) people.lookAtAll(node, ended)
    for (let turns = 0; turns < 8; turns++) await this.world.time.turn()
    assert.deepEqual([...people.differences(finals.get('first')!), ...mortals.found], [])
  }

  /** Lets everything proceed until the condition holds. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const { time, engine, receiver } = this.world
    for (let steps = 0; ; steps++) {
      receiver.answerOne()
      await settled()
      if (await condition()) return
      this.restartFailed()
      assert.ok(steps < drivenStepsMax, `waited in vain for ${what}`)
      const busy = this.nodes.find(({ disk }) => disk.pending > 0)
      if (time.isBusy) await time.turn()
      else if (engine.pending > 0) engine.completeOne()
      else if (busy !== undefined) busy.completeOne()
      else if (Number.isFinite(time.untilTimer)) await time.advance(time.untilTimer)
      else await new Promise((resolve) => realImmediate(resolve))
    }
  }

  async driven<T>(work: Promise<T>): Promise<T> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, over)
    await this.until('the work', () => isOver)
    return work
  }
}

function cut({ stream }: SimulatedNode, isCut: boolean): void {
  if (stream !== null) stream.isCut = isCut
}

/** Simulates one seed. Throws at the first contradiction. */
export async function simulateTwo(
  seed: number,
  trace: (line: () => string) => void = () => {},
): Promise<Simulated> {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1))
  const time = new VirtualTime(random, begins)
  const engine = new SimulatedEngine(random)
  const receiver: SimulatedReceiver = new SimulatedReceiver({
    random,
    count: (outcome) => engine.count(outcome),
  })
  const count = (outcome: string) => engine.count(outcome)
  time.enter()
  try {
    const world = { time, engine, receiver, random, trace, count }
    await new Simulation(random, world).run()
    const { outcomes, everything } = engine
    return { records: everything.at(-1)?.last ?? 0, lives: outcomes.get('start') ?? 0, outcomes }
  } finally {
    time.leave()
  }
}
