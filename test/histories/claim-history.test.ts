// The checker of the histories of claims is checked itself: by histories that are wrong in one
// known way, by random ones of a thread whose claims are right, and by random ones of every kind
// against a search that takes no shortcut.

import t from 'tap'
import { seededRandom } from '../wal/simulated-inode.ts'
import { ClaimHistory, type Held, type Operation, statesAfter } from './claim-history.ts'

const thread = 'thr'
const begins = 1_000_000

function held(holder: string, fence: number, fromMs: number, seconds = 60): Held {
  return { holder, fence, expiresAt: begins + fromMs + seconds * 1000 }
}

let names = 0

interface Asked {
  name?: string
  seconds?: number
  fence?: number | null
  in?: string
}

function send(history: ClaimHistory, by: string, asked: Asked = {}) {
  const { name = `key ${names++}`, seconds = 60, fence = null } = asked
  const what = { is: 'claim', by, seconds, fence, isGuest: false, granted: null } as const
  return history.send(name, asked.in ?? thread, what)
}

function claim(history: ClaimHistory, granted: Held, asked: Asked = {}): void {
  history.answered(send(history, granted.holder, asked), granted)
}

function release(history: ClaimHistory, by: string): void {
  history.answered(history.send(`key ${names++}`, thread, { is: 'release', by }))
}

function reply(history: ClaimHistory, by: string, fence: number, at: number | null = null): void {
  const name = `content ${names++}`
  history.answered(history.send(name, thread, { is: 'reply', by, fence, at: null }))
  if (at !== null) history.published(name, begins + at)
}

function show(history: ClaimHistory, shown: Held | null): void {
  history.saw(thread, history.instant(), { is: 'shown', claim: shown })
}

/** What is wrong, what happens after ana has claimed the thread, and the rule that it breaks. */
const wrong: [string, (history: ClaimHistory) => void, RegExp][] = [
  ['two hold the claim', (h) => claim(h, held('ben', 2, 1000)), /^F2/],
  ['two hold one fence', (h) => claim(h, held('ben', 1, 60_000)), /^F3: fence 1/],
  ['the next one comes a moment too early', (h) => claim(h, held('ben', 2, 59_999)), /^F2/],
  ['a renewal comes when the claim is over', (h) => claim(h, held('ana', 1, 60_000)), /^F2/],
  ['a renewal gets another fence', (h) => claim(h, held('ana', 2, 1000)), /^F2/],
  [
    'a renewed claim passes on at its first end',
    (h) => {
      claim(h, held('ana', 1, 30_000))
      claim(h, held('ben', 2, 60_000))
    },
    /^F2/,
  ],
  [
    'a fence is smaller than an earlier one of another thread',
    (h) => {
      claim(h, held('ben', 7, 1000), { in: 'thr 2' })
      claim(h, held('eve', 5, 2000), { in: 'thr 3' })
    },
    /^F3: 7 was granted/,
  ],
  [
    'a fence comes again after a release',
    (h) => {
      release(h, 'ana')
      claim(h, held('ana', 1, 1000))
    },
    /^F2/,
  ],
  [
    'a claim is still shown after its release',
    (h) => {
      release(h, 'ana')
      show(h, held('ana', 1, 0))
    },
    /^F5/,
  ],
  [
    'a release of another one ends the claim',
    (h) => {
      release(h, 'ben')
      show(h, held('ana', 1, 0))
    },
    /^F5/,
  ],
  [
    'a claim that is not released is gone before its end',
    (h) => {
      show(h, null)
      reply(h, 'ana', 1)
    },
    /^F4/,
  ],
  [
    'a claim was over, and time goes back before its end',
    (h) => {
      show(h, null)
      claim(h, held('ben', 2, 1000))
    },
    /^F2/,
  ],
  ['a read shows another holder', (h) => show(h, { ...held('ana', 1, 0), holder: 'ben' }), /^F5/],
  ['a read shows another end', (h) => show(h, held('ana', 1, 5)), /^F5/],
  [
    'a repeated claim gets another answer',
    (h) => {
      claim(h, held('ana', 1, 100), { name: 'again' })
      claim(h, held('ana', 1, 200), { name: 'again' })
    },
    /^F1/,
  ],
  [
    'a renewal by fence makes a new claim',
    (h) => {
      release(h, 'ana')
      claim(h, held('ana', 2, 1000), { fence: 1 })
    },
    /^F2/,
  ],
  [
    'a late holder publishes',
    (h) => {
      claim(h, held('ben', 2, 60_000))
      reply(h, 'ana', 1)
    },
    /^F4/,
  ],
  ['a reply is published with the fence of another', (h) => reply(h, 'ben', 1), /^F4/],
  ['a reply is published when the claim is over', (h) => reply(h, 'ana', 1, 60_000), /^F4/],
  [
    'a reply without an answer is published after the claim has passed on',
    (h) => {
      claim(h, held('ben', 2, 60_000))
      h.send('late', thread, { is: 'reply', by: 'ana', fence: 1, at: null })
      h.published('late', begins + 60_001)
    },
    /^F4/,
  ],
  [
    'the holder is refused for a lost claim before its end',
    (h) => {
      h.saw(thread, h.instant(), { is: 'lost', by: 'ana', fence: 1 })
      reply(h, 'ana', 1)
    },
    /^F4/,
  ],
  [
    'a claim is refused for one that nobody holds',
    (h) => {
      release(h, 'ana')
      const { holder, expiresAt } = held('ana', 1, 0)
      h.saw(thread, h.instant(), { is: 'claimed', by: 'ben', holder, expiresAt })
    },
    /^F5/,
  ],
  [
    'the holder may not release',
    (h) => h.saw(thread, h.instant(), { is: 'not_holder', by: 'ana' }),
    /^F5/,
  ],
  [
    'a claim without an answer takes effect twice',
    (h) => {
      release(h, 'ana')
      send(h, 'ben')
      show(h, held('ben', 2, 1000))
      release(h, 'ben')
      show(h, held('ben', 3, 2000))
    },
    /^F5/,
  ],
  [
    'a claim survives the block of its holder',
    (h) => {
      h.answered(h.send('block', null, { is: 'block', by: 'ana' }))
      show(h, held('ana', 1, 0))
    },
    /^F5/,
  ],
]

for (const [what, happens, says] of wrong) {
  t.test(`claims: ${what}: a contradiction`, async (t) => {
    const history = new ClaimHistory()
    claim(history, held('ana', 1, 0))
    happens(history)
    const found = history.contradictions()
    t.ok(
      found.some((line) => says.test(line)),
      found.join('\n') || 'nothing was found',
    )
  })
}

t.test('claims: renewed, released, expired, unanswered, late: no contradiction', async (t) => {
  const history = new ClaimHistory()
  const late = send(history, 'ben')
  claim(history, held('ana', 1, 0))
  claim(history, held('ana', 1, 30_000), { fence: 1 })
  reply(history, 'ana', 1, 89_000)
  release(history, 'eve') // it is over, and nobody has said so yet
  claim(history, held('eve', 2, 90_000))
  release(history, 'eve')
  show(history, held('ben', 3, 91_000)) // the late one
  history.answered(late, held('ben', 3, 91_000))
  send(history, 'ben')
  history.send('lost', thread, { is: 'release', by: 'ben' })
  show(history, null)
  history.refused('lost')
  t.same(history.contradictions(), [])
})

/** The rest of an operation: takes effect or is answered, and returns what is left of it then. */
type Step = () => Step | null

/** Callers of a thread whose claims are right, or go wrong now and then. */
class RandomCallers {
  readonly history = new ClaimHistory()
  readonly #random: () => number
  readonly #errs: () => boolean
  #now = begins
  #fences = 0
  #claim: Held | null = null

  constructor(random: () => number, isRight: boolean) {
    this.#random = random
    this.#errs = () => !isRight && this.#below(10) === 0
  }

  run(steps: number): ClaimHistory {
    const callers: (Step | null)[] = [null, null, null]
    for (let step = steps; step > 0; step--) {
      const at = this.#below(callers.length)
      const by = ['ana', 'ben', 'eve'][this.#below(3)]!
      const actions = [this.#claimAs, this.#releaseAs, this.#replyAs, this.#read]
      callers[at] = (callers[at] ?? actions[this.#below(4)]!.call(this, by))()
      this.#now += this.#below(700)
    }
    return this.history
  }

  /** The claim, unless it is over. Whether it is over may be noticed late. */
  #current(): Held | null {
    if (this.#claim !== null && this.#claim.expiresAt <= this.#now) this.#claim = null
    return this.#claim
  }

  #claimAs(by: string): Step {
    return () => {
      const seconds = 1 + this.#below(3)
      const fence = this.#below(3) === 0 ? this.#fences : null
      const name = `key ${names++}`
      const sent = send(this.history, by, { name, seconds, fence })
      return () => this.#decideClaim(by, { sent, name, seconds, fence })
    }
  }

  #decideClaim(
    by: string,
    asked: { sent: ReturnType<typeof send>; name: string; seconds: number; fence: number | null },
  ): Step {
    const { history } = this
    const { sent, name, seconds, fence } = asked
    const now = this.#current()
    const isOwn = now?.holder === by
    if (fence !== null && (!isOwn || now.fence !== fence) && !this.#errs()) {
      return this.#over(() => history.refusedFor(name, { is: 'lost', by, fence }))
    }
    if (now !== null && !isOwn && !this.#errs()) {
      const { holder, expiresAt } = now
      return this.#over(() => history.refusedFor(name, { is: 'claimed', by, holder, expiresAt }))
    }
    const isRenewed = isOwn !== this.#errs()
    const next = isRenewed ? this.#fences : this.#fences + 1
    const granted = { holder: by, fence: next, expiresAt: this.#now + seconds * 1000 }
    this.#fences = next
    if (!this.#errs()) this.#claim = granted
    return this.#below(4) === 0 ? () => null : this.#over(() => history.answered(sent, granted))
  }

  #releaseAs(by: string): Step {
    return () => {
      const { history } = this
      const name = `key ${names++}`
      const sent = history.send(name, thread, { is: 'release', by })
      return () => {
        const now = this.#current()
        if (now !== null && now.holder !== by && !this.#errs()) {
          return this.#over(() => history.refusedFor(name, { is: 'not_holder', by }))
        }
        if (!this.#errs()) this.#claim = null
        return this.#below(4) === 0 ? () => null : this.#over(() => history.answered(sent))
      }
    }
  }

  #replyAs(by: string): Step {
    return () => {
      const { history } = this
      const name = `content ${names++}`
      const fence = this.#fences
      const sent = history.send(name, thread, { is: 'reply', by, fence, at: null })
      return () => {
        const now = this.#current()
        const isHeld = now?.holder === by && now.fence === fence
        if (!isHeld && !this.#errs()) {
          return this.#over(() => history.refusedFor(name, { is: 'lost', by, fence }))
        }
        const at = this.#now
        return this.#over(() => {
          if (this.#below(3) > 0) history.answered(sent)
          if (this.#below(3) > 0) history.published(name, at)
        })
      }
    }
  }

  #read(): Step {
    return () => {
      const calledAt = this.history.instant()
      return () => {
        if (this.#below(2) === 0) this.#current()
        const claim = this.#errs() ? null : this.#claim
        return this.#over(() => this.history.saw(thread, calledAt, { is: 'shown', claim }))
      }
    }
  }

  #over(answer: () => void): Step {
    return () => {
      answer()
      return null
    }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

type State = Parameters<typeof statesAfter>[0]

/** Returns whether some order explains the history, by trying all. */
function hasOrder({ commands, observations }: ClaimHistory): boolean {
  const search = (open: readonly Operation[], state: State): boolean => {
    const firstAnswer = Math.min(...open.map(({ answeredAt }) => answeredAt))
    if (firstAnswer === Number.POSITIVE_INFINITY) return true
    return open.some((operation) => {
      if (operation.calledAt > firstAnswer) return false
      const rest = open.filter((other) => other !== operation)
      return statesAfter(state, operation.what).some((next) => search(rest, next))
    })
  }
  return search([...commands.values(), ...observations], { claim: null, time: 0, fence: 0 })
}

t.test('claims: random callers of claims that are right: no contradiction', async (t) => {
  for (let seed = 1; seed <= 2000; seed++) {
    const found = new RandomCallers(seededRandom(seed), true).run(80).contradictions()
    if (found.length > 0) t.fail(`seed ${seed}: ${found.join('\n')}`)
  }
  t.pass('2000 seeds')
})

t.test('claims: with mistakes: contradict themselves if no order exists', async (t) => {
  const verdicts = { right: 0, wrong: 0 }
  for (let seed = 1; seed <= 3000; seed++) {
    const history = new RandomCallers(seededRandom(seed), false).run(24)
    const found = history.contradictions().filter((line) => !line.startsWith('F3'))
    const isRight = hasOrder(history)
    verdicts[isRight ? 'right' : 'wrong'] += 1
    if (isRight !== (found.length === 0)) t.fail(`seed ${seed}: ${isRight} ${found}`)
  }
  t.ok(verdicts.right > 500 && verdicts.wrong > 500, JSON.stringify(verdicts))
})

t.test('F3: made by a claim without an answer, and renewed later: an earlier fence', (t) => {
  const history = new ClaimHistory()
  send(history, 'ana')
  claim(history, held('ben', 2, 1000), { in: 'thr 2' })
  claim(history, held('ana', 1, 2000))
  t.same(history.contradictions(), [])
  t.end()
})
