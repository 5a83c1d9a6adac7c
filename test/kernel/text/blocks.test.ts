// The block cache, compared with a plain model through random holds, loads, releases, drops and
// lookups.

import fc from 'fast-check'
import t from 'tap'
import { blockBytes, TextBlocks } from '../../../src/kernel/text/blocks.ts'

const blockCount = 12

type Step = { do: 'hold' | 'load' | 'release' | 'drop' | 'get'; block: number }

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('hold', 'load', 'release', 'drop', 'get'),
  block: fc.nat(blockCount - 1),
})

/** A holder's knowledge: the slot, and the content that the holder has put there. */
interface Held {
  block: number
  slot: number
  version: number
}

function run(steps: readonly Step[], cachedMax: number): void {
  const blocks = new TextBlocks(cachedMax * blockBytes)
  const versions = new Array<number>(blockCount).fill(1)
  const held: Held[] = []
  const expectShown = (block: number, bytes: Uint8Array) => {
    const shown = `block ${block} shows ${bytes[0]} and ${bytes[blockBytes - 1]}`
    const right = block * 16 + versions[block]
    if (bytes[0] !== right || bytes[blockBytes - 1] !== right) throw new Error(shown)
  }
  for (const { do: what, block } of steps) {
    if (what === 'hold') {
      const slot = blocks.hold(block)
      const isNew = !blocks.isLoaded(slot) && held.every((each) => each.slot !== slot)
      if (isNew && blocks.bytesOf(slot)[0] !== 0) throw new Error('B4: a free slot has bytes')
      held.push({ block, slot, version: versions[block] })
    } else if (what === 'load') {
      const mine = held.find((each) => each.block === block && !blocks.isLoaded(each.slot))
      if (mine === undefined) continue
      // The bytes may have been read before a drop.
      blocks.bytesOf(mine.slot).fill(block * 16 + mine.version)
      blocks.setLoaded(mine.slot)
    } else if (what === 'release') {
      const at = held.findIndex((each) => each.block === block)
      if (at !== -1) blocks.release(held.splice(at, 1)[0].slot)
    } else if (what === 'drop') {
      blocks.drop(block)
      versions[block] = (versions[block] % 15) + 1
    } else {
      const bytes = blocks.get(block)
      if (bytes !== null) expectShown(block, bytes)
      const noted = blocks.takeMissing()
      if (noted.includes(block) !== (bytes === null)) throw new Error(`noted ${noted}`)
    }
    for (const { block, slot, version } of held) {
      const isCurrent = blocks.isLoaded(slot) && version === versions[block]
      if (isCurrent && blocks.get(block) === null) throw new Error(`B2: ${block} is not shown`)
    }
    blocks.takeMissing()
    const different = new Set(held.map(({ slot }) => slot)).size
    if (blocks.bytes > (different + cachedMax) * blockBytes) throw new Error('B3: too many kept')
  }
}

t.test('B1 to B4: random steps: the right bytes, held ones stay, few are kept', async () => {
  const steps = fc.array(step, { maxLength: 200, size: 'max' })
  fc.assert(fc.property(steps, fc.nat(5), run))
})

t.test('missing: several are noted: returned in order, each once, then forgotten', async (t) => {
  const blocks = new TextBlocks()
  t.notOk(blocks.isMissing)
  for (const block of [70, 3, 70, 11]) t.equal(blocks.get(block), null)
  t.ok(blocks.isMissing)
  t.same(blocks.takeMissing(), [3, 11, 70])
  t.notOk(blocks.isMissing)
  t.same([blocks.hits, blocks.misses], [0, 4])
})

t.test('B3: more are used than are kept: the one that is used again stays', async (t) => {
  const blocks = new TextBlocks(4 * blockBytes)
  for (let block = 0; block < 200; block++) {
    const slot = blocks.hold(block)
    blocks.setLoaded(slot)
    blocks.release(slot)
    if (block > 0) t.ok(blocks.get(0), `after ${block}`)
  }
  t.equal(blocks.bytes, 4 * blockBytes)
  blocks.cachedBytesMax = 0
  t.equal(blocks.bytes, 0)
  t.equal(blocks.get(0), null)
})

t.test('drop: a block that is held: its bytes are zeros once nobody holds it', async (t) => {
  const blocks = new TextBlocks(4 * blockBytes)
  const slot = blocks.hold(3)
  blocks.bytesOf(slot).fill(7)
  blocks.setLoaded(slot)
  blocks.drop(3)
  blocks.release(slot)
  t.ok(blocks.bytesOf(slot).every((byte) => byte === 0))
})
