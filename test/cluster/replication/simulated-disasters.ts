// Unexpected losses on servers and disks: the stream is lost, or everything that the servers have
// stored, perhaps together with a node's disk, while nodes run or are all down. And the reactions
// of an operator, who reads what nodes wait for.
//
// D1. When all nodes wait and none leads, an operator lets the node that has most begin the stream.
//     Nodes that follow an empty stream do not wait: the operator starts them again, as they
//     advise.
// D2. A node that is refused begins with an empty disk only where something may be lost anyway.

import assert from 'node:assert/strict'
import { ConfigError } from '../../../src/base/arguments.ts'
import type { SimulatedNode, World } from './simulated-node.ts'

/** The time that nodes must have waited for the same thing before an operator acts. */
const patienceMs = 30_000

export class Disasters {
  /** The number of losses so far. */
  count = 0
  /** Whether a disk was lost, and perhaps acknowledged writes with it. */
  mayLose = false
  readonly #world: World
  readonly #nodes: readonly SimulatedNode[]
  /** When a node was last seen to lead. */
  #ledMs = Number.NEGATIVE_INFINITY

  constructor(world: World, nodes: readonly SimulatedNode[]) {
    this.#world = world
    this.#nodes = nodes
  }

  strike(): void {
    const { engine, trace, random } = this.#world
    const any = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)]!
    const what = any(['stores', 'stream', 'purge'] as const)
    const areDown = random() < 0.7
    const lost = random() < 0.4 ? any(this.#nodes) : null
    trace(() => `disaster: ${what}, ${areDown ? 'all down' : 'running'}, disk of ${lost?.name}`)
    engine.count(`disaster: ${what}`)
    if (lost !== null) engine.count('disaster: a disk')
    this.count += 1
    for (const node of this.#nodes) {
      if (node.isAlive && (areDown || node === lost)) node.crash('kill')
    }
    engine.lose(what)
    if (lost === null) return
    this.mayLose = true
    lost.loseDisk()
  }

  /** Acts as an operator who looks at all nodes from time to time. */
  help(): void {
    if (this.count === 0) return
    for (const node of this.#nodes) if (node.failure !== null) this.#replace(node)
    if (this.#nodes.some(({ leads, isUp }) => leads && isUp)) {
      this.#ledMs = performance.now()
      return
    }
    const waiting = this.#nodes.filter(({ waits }) => waits !== null && this.#isLong(waits.sinceMs))
    if (waiting.length === 0 && !this.#isLong(this.#ledMs)) return
    const others = this.#nodes.filter((node) => !waiting.includes(node))
    if (others.some(({ isAlive, isUp }) => !isAlive || !isUp)) return
    if (others.length > 0 && this.#world.engine.messages.length > 0) return
    // Nodes that only show what they have decide nothing while they run.
    for (const node of others) restart(node)
    if (others.length > 0) return
    if (waiting.every(({ waits }) => waits!.why.includes('remove the stream'))) {
      assert.ok(this.mayLose, 'no node has what is lost')
      this.#world.count('operator: removes the stream')
      this.#world.engine.lose('stores')
      for (const node of waiting) restart(node)
      return
    }
    const [most] = waiting
      .map((node) => ({ node, word: /--begin-stream (\d+)/.exec(node.waits!.why)?.[1] }))
      .filter(({ word }) => word !== undefined)
      .sort((one, two) => rank(two.node, two.word!) - rank(one.node, one.word!))
    if (most === undefined) return
    this.#world.trace(() => `operator: ${most.node.name} begins the stream at ${most.word}`)
    this.#world.count('operator: begins the stream')
    restart(most.node, ['--begin-stream', most.word!])
  }

  #isLong(sinceMs: number): boolean {
    return performance.now() - sinceMs > patienceMs
  }

  #replace(node: SimulatedNode): void {
    const { failure } = node
    const isRefused = failure instanceof ConfigError || failure?.exitCode === 77
    if (!isRefused) return
    assert.ok(this.mayLose, `${node.name} is refused, and nothing was lost: ${failure.message}`)
    this.#world.count('operator: an empty disk')
    node.crash('kill')
    node.loseDisk()
    node.start()
  }
}

function restart(node: SimulatedNode, flags: readonly string[] = []): void {
  node.crash('kill')
  node.start(flags)
}

/**
 * Ranks an empty node last, and a node that knows of another with more records after the others.
 */
function rank({ waits }: SimulatedNode, word: string): number {
  if (word === '0') return 0
  return waits!.why.includes('this node has less') ? 1 : 2 + Number(word)
}
