// Goal:   a node finds the place in the stream where its log continues, or the records of its log
//         that are not part of the common history.
// Method: streams of random terms and messages, whose truth is a list of the term of each position;
//         logs that are a prefix of the truth, diverge from it or extend beyond it; trimmed at any
//         message.

import fc from 'fast-check'
import t from 'tap'
import {
  type Comparison,
  compareWithStream,
  type LogEnd,
} from '../../../src/cluster/replication/compare.ts'
import {
  type StreamMessage,
  StreamUnavailable,
} from '../../../src/cluster/replication/log-stream.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { MemoryStream, nameOf, nonceOf } from './memory-stream.ts'

/** For each term, the lengths of its messages; `begin` is the position before the stream. */
const streams = fc.record({
  begin: fc.nat(5),
  terms: fc.array(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }), {
    minLength: 1,
    maxLength: 4,
  }),
  /** The terms are 1, 2, 3 … plus the sum of the skips so far: terms may be skipped. */
  skips: fc.array(fc.nat(1), { minLength: 4, maxLength: 4 }),
})

type Shape = typeof streams extends fc.Arbitrary<infer T> ? T : never

const store = 'the store'

/** Returns the end of a log of this history. */
function endAt(position: number, term: number): LogEnd {
  return { position, term, nonce: nonceOf(term), store }
}

async function streamOf({ begin, terms, skips }: Shape) {
  const stream = new MemoryStream()
  /** The term of each position from `begin` + 1 on. */
  const truth: number[] = []
  let term = 0
  for (const [index, lengths] of terms.entries()) {
    term += 1 + (skips[index] ?? 0)
    for (const length of [1, ...lengths]) {
      const first = begin + truth.length + 1
      const name = nameOf(store, term, stream.messages.at(-1))
      const message = { first, last: first + length - 1, term, name, bytes: new Uint8Array() }
      await stream.publish(message, stream.messages.length)
      for (let n = 0; n < length; n++) truth.push(term)
    }
  }
  return { stream, truth, begin }
}

const termAt = (truth: number[], begin: number, position: number) =>
  position <= begin ? 0 : (truth[position - begin - 1] ?? null)

t.test(
  'compare: a log that is a prefix: goes on with the message of its next record',
  async (t) => {
    const property = fc.asyncProperty(streams, fc.nat(), async (shape, at) => {
      const { stream, truth, begin } = await streamOf(shape)
      const position = begin + (at % (truth.length + 1))
      const term = termAt(truth, begin, position)!
      const found = await compareWithStream(stream, endAt(position, term))
      if (found.kind !== 'behind') return false
      const message = stream.at(found.next)
      if (message === null)
        return found.next === stream.messages.length + 1 && position === begin + truth.length
      return message.first <= position + 1 && position < message.last
    })
    await t.resolves(fc.assert(property))
  },
)

t.test(
  'compare: a log with a tail of an earlier term: diverged where the next began',
  async (t) => {
    const property = fc.asyncProperty(streams, fc.nat(), fc.nat(8), async (shape, at, tail) => {
      const { stream, truth, begin } = await streamOf(shape)
      const shared = begin + (at % (truth.length + 1))
      const term = termAt(truth, begin, shared)!
      const next = truth.findIndex((other) => other > term)
      // The tail begins where the log's last term ends in the stream.
      const end = next === -1 ? begin + truth.length : begin + next
      const position = end + 1 + tail
      const found = await compareWithStream(stream, endAt(position, term))
      if (next === -1) return found.kind === 'ahead'
      return found.kind === 'diverged' && found.from === end + 1
    })
    await t.resolves(fc.assert(property))
  },
)

t.test('compare: messages are trimmed: never a place that leaves a gap', async (t) => {
  let trimmed = 0
  const property = fc.asyncProperty(streams, fc.nat(), fc.nat(), async (shape, at, below) => {
    const { stream, truth, begin } = await streamOf(shape)
    const kept = 1 + (below % stream.messages.length)
    await stream.trim(kept)
    const position = begin + (at % (truth.length + 1))
    const term = termAt(truth, begin, position)!
    const found = await compareWithStream(stream, endAt(position, term))
    const isThere = position + 1 >= stream.at(kept)!.first
    if (isThere) return found.kind === 'behind'
    trimmed += 1
    return found.kind === 'trimmed' && found.first.sequence === kept
  })
  await t.resolves(fc.assert(property))
  t.ok(trimmed > 0, `${trimmed} logs end before what is kept`)
})

t.test(
  'compare: the stream was lost and begins with a later term: a checkpoint is needed',
  async (t) => {
    let count = 0
    const property = fc.asyncProperty(streams, fc.nat(), fc.nat(40), async (shape, at, tail) => {
      const { stream, truth, begin } = await streamOf(shape)
      const position = begin + (at % (truth.length + 1)) + tail
      const term = termAt(truth, begin, position - tail)!
      const isLater = ({ term: later, name: { previousNonce } }: StreamMessage) => {
        return later > term && previousNonce !== undefined && previousNonce !== nonceOf(term)
      }
      const first = stream.messages.findIndex(isLater) + 1
      if (first === 0 || stream.at(first)!.first > position + 1) return true
      await stream.trim(first)
      count += 1
      const found = await compareWithStream(stream, endAt(position, term))
      return found.kind === 'trimmed' && found.isUnproven && found.first.sequence === first
    })
    await t.resolves(fc.assert(property, { numRuns: 500 }))
    t.ok(count > 50, `${count} logs have records that a lost term may have replaced`)
  },
)

t.test('compare: another store, or another term of the same number: another history', async (t) => {
  const kinds = new Set<string>()
  const logs = fc.record({ at: fc.nat(), tail: fc.nat(8), isOtherStore: fc.boolean() })
  const property = fc.asyncProperty(streams, fc.nat(), logs, async (shape, below, log) => {
    const { stream, truth, begin } = await streamOf(shape)
    const position = begin + 1 + (log.at % truth.length)
    const term = termAt(truth, begin, position)!
    const end = endAt(position + log.tail, term)
    await stream.trim(1 + (below % stream.messages.length))
    const own = log.isOtherStore ? { ...end, store: 'another' } : { ...end, nonce: 'another' }
    const { kind } = await compareWithStream(stream, own)
    kinds.add(kind)
    return kind === 'other' || (kind === 'trimmed' && !log.isOtherStore)
  })
  await t.resolves(fc.assert(property))
  t.ok(kinds.has('other'))
})

t.test('compare: servers answer late: never a place that is not its own', async (t) => {
  const seen = new Map<string, number>()
  const logs = fc.record({ at: fc.nat(), tail: fc.nat(8), seed: fc.nat() })
  const property = fc.asyncProperty(streams, logs, async (shape, { at, tail, seed }) => {
    const { stream, truth, begin } = await streamOf(shape)
    const position = begin + (at % (truth.length + 1))
    const term = termAt(truth, begin, position)!
    const own = endAt(position + tail, term)
    const right = await compareWithStream(stream, own)
    const found = await compareWithStream(lateServers(stream, seed), own).catch(unavailable)
    seen.set(found.kind, (seen.get(found.kind) ?? 0) + 1)
    // Only these verdicts lead to an action without another look.
    if (found.kind === 'diverged') return fc.stringify(found) === fc.stringify(right)
    if (found.kind !== 'behind') return found.kind !== 'trimmed'
    return right.kind === 'behind' && found.next === right.next
  })
  await t.resolves(fc.assert(property, { numRuns: 500 }))
  for (const kind of ['behind', 'diverged', 'ahead', 'unavailable'])
    t.ok(seen.get(kind), `${kind} ${seen.get(kind)} times`)
})

/** Returns a view of the stream through servers each of which may lack the newest messages. */
function lateServers(stream: MemoryStream, seed: number): MemoryStream {
  const random = seededRandom(seed)
  const newest = () => Math.max(1, stream.messages.length - Math.floor(random() * 4))
  const late = Object.create(stream) as MemoryStream
  late.last = async () => stream.at(newest())
  late.get = async (sequence) => (sequence <= newest() ? stream.at(sequence) : null)
  late.firstSequence = () => stream.firstSequence()
  return late
}

function unavailable(error: unknown): { kind: 'unavailable' } {
  if (!(error instanceof StreamUnavailable)) throw error
  return { kind: 'unavailable' }
}

t.test('compare: no message yet, or a term that is not there: reported', async (t) => {
  const stream = new MemoryStream()
  t.same(await compareWithStream(stream, endAt(0, 0)), { kind: 'empty' })
  const name = nameOf(store, 2)
  await stream.publish({ first: 1, last: 1, term: 2, name, bytes: new Uint8Array() }, 0)
  const kindOf = async (position: number, term: number): Promise<Comparison['kind']> =>
    (await compareWithStream(stream, endAt(position, term))).kind
  t.equal(await kindOf(4, 3), 'lost')
  t.equal(await kindOf(4, 0), 'diverged', 'a log of before the stream, which went on alone')
})
