// The checker of histories is checked itself: by histories that are wrong in one known way, by
// random ones of a list that is right, and by random ones of every kind against a search for an
// order, which tries all of them.

import t from 'tap'
import { seededRandom } from '../wal/simulated-inode.ts'
import {
  type Append,
  type Newest,
  type Part,
  type Read,
  type Shown,
  ThreadHistory,
} from './thread-history.ts'

const thread = 'thr'
const seqOf = (n: number) => 10 * n

/** The n-th message of the thread, as reads show it. */
function message(n: number): Shown {
  return { seq: seqOf(n), id: `msg ${n}`, content: `content ${n}` }
}

function whole(...items: Shown[]): Part {
  return { after: 0, before: Number.POSITIVE_INFINITY, items, length: items.length }
}

/** A history in which the first two messages were appended, one after the other. */
function twoMessages(): ThreadHistory {
  const history = new ThreadHistory()
  for (const n of [1, 2]) {
    history.answered(history.append(`content ${n}`, thread), thread, `msg ${n}`)
  }
  return history
}

function readNow(history: ThreadHistory, part: Part): void {
  history.read(thread)(part)
}

const both = () => whole(message(1), message(2))

/** What is wrong, what happens after two messages, and what the checker says of it. */
const wrong: [string, (history: ThreadHistory) => void, RegExp][] = [
  ['an answered append is lost', (h) => readNow(h, whole(message(1))), /^L1: content 2.*not there/],
  [
    'an append is there twice',
    (h) => readNow(h, whole(message(1), message(2), { ...message(3), content: 'content 2' })),
    /^L1: content 2 is there twice/,
  ],
  [
    'an append that is repeated with its key gets another id',
    (h) => {
      h.answered(h.append('content 2', thread), thread, 'msg 3')
      readNow(h, both())
    },
    /^L1: content 2.*also answered as msg 3/,
  ],
  [
    'a read lacks what was answered before it',
    (h) => {
      readNow(h, whole(message(1)))
      readNow(h, both())
    },
    /^L3: message 2 of thr.*no instant/,
  ],
  [
    'a read lacks what an earlier read showed',
    (h) => {
      const append = h.append('content 3', thread)
      readNow(h, whole(message(1), message(2), message(3)))
      readNow(h, both())
      h.answered(append, thread, 'msg 3')
      readNow(h, whole(message(1), message(2), message(3)))
    },
    /^L3: message 3 of thr.*no instant/,
  ],
  [
    'a message is shown before it was sent',
    (h) => {
      readNow(h, whole(message(1), message(2), message(3)))
      h.answered(h.append('content 3', thread), thread, 'msg 3')
    },
    /^L3: message 3 of thr.*no instant/,
  ],
  [
    'two messages are in the order in which they cannot have been appended',
    (h) => readNow(h, whole({ ...message(2), seq: 5 }, message(1))),
    /^L3: message 1 of thr, msg 2, has no instant/,
  ],
  [
    'a message moves to another position',
    (h) => {
      readNow(h, both())
      readNow(h, whole(message(1), { ...message(2), seq: 25 }))
    },
    /^L3: msg 2 was shown as two/,
  ],
  [
    'a content changes',
    (h) => {
      readNow(h, both())
      readNow(h, whole(message(1), { ...message(2), content: 'content 1' }))
    },
    /^L3: msg 2 was shown as two/,
  ],
  [
    'a part of the thread has a gap',
    (h) => {
      readNow(h, both())
      readNow(h, { ...whole(message(2)), length: 2 })
    },
    /^L3: the read of thr at \d+ shows msg 2 where msg 1 was/,
  ],
  [
    'a part ends before its end',
    (h) => {
      readNow(h, both())
      readNow(h, { ...whole(message(1)), length: 2 })
    },
    /^L3: the read of thr at \d+ shows nothing where msg 2 was/,
  ],
  [
    'more messages are counted than there are',
    (h) => readNow(h, { ...both(), length: 3 }),
    /^L3: the read of thr at \d+ counts 3 messages of 2/,
  ],
  [
    'a message that nobody sent',
    (h) => readNow(h, whole(message(1), message(2), message(3))),
    /^L1: content 3 was never sent/,
  ],
  [
    'an append that was refused is there',
    (h) => {
      h.refused(h.append('content 3', thread))
      readNow(h, whole(message(1), message(2), message(3)))
    },
    /^L2: content 3.*was refused, and is there/,
  ],
  [
    'an append without an answer appears, and is gone again',
    (h) => {
      h.append('content 3', thread)
      readNow(h, whole(message(1), message(2), message(3)))
      readNow(h, both())
    },
    /^L3: message 3 of thr.*no instant/,
  ],
  [
    'an append without an answer appears twice',
    (h) => {
      h.append('content 3', thread)
      const again = { ...message(4), content: 'content 3' }
      readNow(h, whole(message(1), message(2), message(3), again))
    },
    /^L1: content 3 is there twice/,
  ],
  [
    'a message is in another thread than it was sent to',
    (h) => {
      readNow(h, both())
      h.append('content 3', thread)
      h.read('thr 2')(whole(message(3)))
    },
    /^L1: content 3.*reads content 3 in thr 2/,
  ],
  [
    'a conditional append follows another message than it expects',
    (h) => {
      h.answered(h.append('content 3', thread, seqOf(1)), thread, 'msg 3')
      readNow(h, whole(message(1), message(2), message(3)))
    },
    /^L4: msg 3 follows 20, and expects 10/,
  ],
  [
    'a conditional append is refused for a message that comes later',
    (h) => {
      h.refusedFor(h.append('content 4', thread, seqOf(2)), seqOf(3))
      h.answered(h.append('content 3', thread), thread, 'msg 3')
      readNow(h, whole(message(1), message(2), message(3)))
    },
    /^L3: message 3 of thr.*no instant/,
  ],
  [
    'a conditional append is refused for a message that nobody sees',
    (h) => {
      h.refusedFor(h.append('content 4', thread, seqOf(2)), seqOf(3))
      readNow(h, both())
    },
    /^L4: a refusal at 5 shows a message that is nowhere/,
  ],
  [
    'two threads share a position',
    (h) => {
      readNow(h, both())
      h.answered(h.append('content 3', null), 'thr 2', 'msg 3')
      h.read('thr 2')(whole({ ...message(3), seq: seqOf(2) }))
    },
    /^L3: msg 3 was shown as two/,
  ],
]

for (const [what, happens, says] of wrong) {
  t.test(`history: ${what}: a contradiction`, async (t) => {
    const history = twoMessages()
    happens(history)
    const found = history.contradictions()
    t.ok(
      found.some((line) => says.test(line)),
      found.join('\n') || 'nothing was found',
    )
  })
}

t.test('history: appends without an answer: appear once, late or never: no contradiction', (t) => {
  const history = twoMessages()
  history.append('content 3', thread)
  history.append('content 4', thread)
  readNow(history, both())
  const repeated = history.append('content 3', thread)
  readNow(history, whole(message(1), message(2), message(3)))
  history.answered(repeated, thread, 'msg 3')
  history.refused(history.append('content 5', thread))
  readNow(history, { after: seqOf(1), before: seqOf(3), items: [message(2)], length: 3 })
  readNow(history, whole(message(1), message(2), { ...message(3), content: null }))
  t.same(history.contradictions(), [])
  t.end()
})

/** The rest of an operation: takes effect or is answered, and returns what is left of it then. */
type Step = () => Step | null

/** Callers of a list that is right, or that makes a mistake now and then. */
class RandomCallers {
  readonly history = new ThreadHistory()
  readonly #random: () => number
  readonly #errs: () => boolean
  readonly #list: Shown[] = []
  #earlier: Part = whole()

  constructor(random: () => number, isRight: boolean) {
    this.#random = random
    this.#errs = () => !isRight && this.#below(8) === 0
  }

  run(): ThreadHistory {
    const callers: (Step | null)[] = [null, null, null]
    for (let steps = 3 + this.#below(18); steps > 0; steps--) {
      const at = this.#below(callers.length)
      const step = callers[at] ?? (this.#below(2) === 0 ? this.#append() : this.#read())
      callers[at] = step()
    }
    readNow(this.history, whole(...this.#list))
    return this.history
  }

  #append(): Step {
    return () => {
      const { history } = this
      const content = `content ${history.appends.size + 1}`
      const isConditional = this.#below(3) === 0
      const expectSeq = isConditional ? seqOf(this.#below(4)) : Number.POSITIVE_INFINITY
      const append = history.append(content, thread, expectSeq)
      return () => {
        const newest = this.#list.at(-1)?.seq ?? 0
        if (newest > expectSeq && !this.#errs()) {
          return () => {
            history.refusedFor(append, this.#errs() ? newest - 10 : newest)
            return null
          }
        }
        const seq = seqOf(this.#list.length + 1)
        const id = `msg ${history.appends.size} ${seq}`
        if (!this.#errs()) this.#list.push({ seq, id, content })
        if (this.#errs()) this.#list.push({ seq: seq + 5, id: `${id} again`, content })
        if (this.#errs()) this.#list.pop()
        if (this.#below(4) === 0) return null
        return () => {
          history.answered(append, thread, id)
          return null
        }
      }
    }
  }

  #read(): Step {
    return () => {
      const answer = this.history.read(thread)
      return () => {
        const after = this.#below(3) === 0 ? seqOf(this.#below(3)) : 0
        const items = this.#list.filter(({ seq }) => seq > after)
        const now = { ...whole(...items), after, length: this.#list.length }
        const shown = this.#errs() ? this.#earlier : now
        if (this.#errs()) shown.items = shown.items.slice(1)
        this.#earlier = now
        return () => {
          answer(shown)
          return null
        }
      }
    }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

type Operation = Append | Read | Newest

/** Returns whether some order explains the history, by trying all. */
function hasOrder({ appends, reads, newest }: ThreadHistory): boolean {
  const shown = reads.flatMap(({ items }) => items)
  const apply = (operation: Operation, list: readonly Shown[]): (readonly Shown[])[] => {
    const last = list.at(-1)?.seq ?? 0
    if ('items' in operation) return isOf(operation, list) ? [list] : []
    if ('newest' in operation) return last > 0 && operation.newest === last ? [list] : []
    const { id, content, expectSeq } = operation
    if (last > expectSeq) return []
    const candidates = shown.filter((each) =>
      id === null ? each.content === content : each.id === id,
    )
    return candidates.filter(({ seq }) => seq > last).map((each) => [...list, { ...each, content }])
  }
  const search = (open: readonly Operation[], list: readonly Shown[]): boolean => {
    if (open.every(({ answeredAt }) => answeredAt === Number.POSITIVE_INFINITY)) return true
    const firstAnswer = Math.min(...open.map(({ answeredAt }) => answeredAt))
    return open.some((operation) => {
      if (operation.calledAt > firstAnswer) return false
      const rest = open.filter((other) => other !== operation)
      return apply(operation, list).some((next) => search(rest, next))
    })
  }
  const sent = [...appends.values()].filter(({ attempts }) => attempts > 0)
  const isWrong = [...appends.values()].some(({ attempts, content }) => {
    return attempts === 0 && shown.some((each) => each.content === content)
  })
  return !isWrong && search([...sent, ...reads, ...newest], [])
}

function isOf({ after, before, items, length }: Part, list: readonly Shown[]): boolean {
  const part = list.filter(({ seq }) => seq > after && seq < before)
  return length === list.length && JSON.stringify(part) === JSON.stringify(items)
}

t.test('history: random callers of a list that is right: no contradiction', async (t) => {
  for (let seed = 1; seed <= 2000; seed++) {
    const found = new RandomCallers(seededRandom(seed), true).run().contradictions()
    if (found.length > 0) t.fail(`seed ${seed}: ${found.join('\n')}`)
  }
  t.pass('2000 seeds')
})

t.test('history: of a list with mistakes: contradicts itself if no order exists', async (t) => {
  const verdicts = { right: 0, wrong: 0 }
  for (let seed = 1; seed <= 3000; seed++) {
    const history = new RandomCallers(seededRandom(seed), false).run()
    const found = history.contradictions()
    const isRight = hasOrder(history)
    verdicts[isRight ? 'right' : 'wrong'] += 1
    if (isRight !== (found.length === 0)) t.fail(`seed ${seed}: ${isRight} ${found}`)
  }
  t.ok(verdicts.right > 500 && verdicts.wrong > 500, JSON.stringify(verdicts))
})
