// What concurrent callers asked of threads and were told, and the check that one order explains all
// of it: a thread is a list to which messages are only appended, and each request takes effect at
// one instant between its call and its answer (linearizability). Instants are counted: every call
// and every answer is one.
//
// L1. An append that was answered is in its thread, once, under the id of the answer, and however
//     often it is repeated with its key: it is one operation, from its first call to its first
//     answer.
// L2. An append without an answer took effect at one instant after its call, or never. One that was
//     only refused never did.
// L3. A read shows the list of one instant between its call and its answer: the part that was
//     asked for, without gaps, and the number of all messages.
// L4. An append that expects a newest message is the first after it. One that is refused for a
//     newer message has read the newest one.
//
// The order of the messages is that of their `seq`, so it need not be searched for. The n-th
// message was appended
//
//   after   its own call, and the call of every read that shows fewer than n messages,
//   before  its own answer, and the answer of every read that shows n or more,
//
// and after the messages before it. There are such instants exactly if, for every n, the latest
// `after` of the messages up to n is earlier than the earliest `before` of those from n on. A read
// then has its instant between those of its last message and the next.
//
// The history must end with a read of every thread as a whole, because an answer to an append does
// not carry the message's `seq`.

/** A message as a read shows it; the content of a removed message is null. */
export interface Shown {
  seq: number
  id: string
  content: string | null
}

/** The messages of a thread between two positions, and the number of all its messages. */
export interface Part {
  after: number
  before: number
  items: readonly Shown[]
  length: number
}

export interface Append {
  content: string
  /** Null for the first message of a new thread, until its answer names the thread. */
  thread: string | null
  /** The newest message after which it may be appended; Infinity unless it is conditional. */
  expectSeq: number
  /** The id that the first answer gave the message. */
  id: string | null
  calledAt: number
  /** Infinity while the outcome is unknown. */
  answeredAt: number
  /** The number of times that it was sent and not refused. */
  attempts: number
}

export interface Read extends Part {
  thread: string
  calledAt: number
  answeredAt: number
}

/** The refusal of a conditional append, which shows the position of the newest message. */
export interface Newest {
  thread: string
  newest: number
  calledAt: number
  answeredAt: number
}

/** A message of the list, and where it is. */
interface Element extends Shown {
  thread: string
}

/** An instant before or after which a message was appended, and why. */
interface Bound {
  at: number
  why: string
}

export class ThreadHistory {
  /** By content, which no two writes share. */
  readonly appends = new Map<string, Append>()
  readonly reads: Read[] = []
  readonly newest: Newest[] = []
  readonly #found: string[] = []
  #instants = 0

  /** An append is sent, for the first time or again with its key. */
  append(content: string, thread: string | null, expectSeq = Number.POSITIVE_INFINITY): Append {
    let append = this.appends.get(content)
    if (append === undefined) {
      const calledAt = this.#instants++
      append = {
        content,
        thread,
        expectSeq,
        id: null,
        calledAt,
        answeredAt: Number.POSITIVE_INFINITY,
        attempts: 0,
      }
      this.appends.set(content, append)
    }
    append.attempts += 1
    return append
  }

  answered(append: Append, thread: string, id: string): void {
    append.thread ??= thread
    append.id ??= id
    if (append.thread !== thread || append.id !== id) {
      this.#found.push(`L1: ${nameOf(append)} was also answered as ${id} in ${thread}`)
    }
    if (append.answeredAt === Number.POSITIVE_INFINITY) append.answeredAt = this.#instants++
  }

  /** The append was refused, and not because of a failure after which it may be there. */
  refused(append: Append): void {
    append.attempts -= 1
  }

  /** The append was refused, because this message is newer than the one that it expects. */
  refusedFor(append: Append, seq: number): void {
    this.refused(append)
    const { thread, calledAt } = append
    this.newest.push({ thread: thread!, newest: seq, calledAt, answeredAt: this.#instants++ })
  }

  /** A read is sent. Returns the function that is called with its answer. */
  read(thread: string): (part: Part) => void {
    const calledAt = this.#instants++
    return (part) => this.reads.push({ ...part, thread, calledAt, answeredAt: this.#instants++ })
  }

  /** Returns everything that no order explains. */
  contradictions(): string[] {
    const found = [...this.#found]
    const elements = this.#elements(found)
    for (const append of this.appends.values()) found.push(...compareAppend(append, elements))
    for (const thread of new Set(this.reads.map(({ thread }) => thread))) {
      found.push(...this.#compareThread(thread, elements))
    }
    return found
  }

  /** Returns all messages that reads have shown, by id. */
  #elements(found: string[]): Map<string, Element> {
    const elements = new Map<string, Element>()
    const idAt = new Map<number, string>()
    const idOf = new Map<string, string>()
    for (const { thread, items } of this.reads) {
      for (const { seq, id, content } of items) {
        const known = elements.get(id) ?? { thread, seq, id, content }
        elements.set(id, { ...known, content: known.content ?? content })
        const isMoved = known.thread !== thread || known.seq !== seq
        const isChanged = content !== null && known.content !== null && known.content !== content
        const isElsewhere = (idAt.get(seq) ?? id) !== id
        if (isMoved || isChanged || isElsewhere) found.push(`L3: ${id} was shown as two, at ${seq}`)
        idAt.set(seq, id)
        if (content === null) continue
        if ((idOf.get(content) ?? id) !== id) found.push(`L1: ${content} is there twice`)
        idOf.set(content, id)
        if (!this.appends.has(content)) found.push(`L1: ${content} was never sent`)
      }
    }
    return elements
  }

  #compareThread(thread: string, elements: ReadonlyMap<string, Element>): string[] {
    const order = [...elements.values()].filter((each) => each.thread === thread)
    order.sort((a, b) => a.seq - b.seq)
    const byId = new Map([...this.appends.values()].map((append) => [append.id, append]))
    const found: string[] = []
    const after: Bound[] = []
    const before: Bound[] = []
    for (const [n, { id, content }] of order.entries()) {
      const append = byId.get(id) ?? this.appends.get(content ?? '')
      after[n] = { at: append?.calledAt ?? -1, why: 'it was sent' }
      before[n] = { at: append?.answeredAt ?? Number.POSITIVE_INFINITY, why: 'it was answered' }
      const { seq } = order[n - 1] ?? { seq: 0 }
      const expectSeq = append?.expectSeq ?? Number.POSITIVE_INFINITY
      if (seq > expectSeq) found.push(`L4: ${id} follows ${seq}, and expects ${expectSeq}`)
    }
    for (const read of [...this.reads, ...this.newest]) {
      if (read.thread !== thread) continue
      const { calledAt, answeredAt } = read
      const isPart = 'items' in read
      found.push(...(isPart ? comparePart(read, order) : compareNewest(read, order)))
      const length = isPart ? read.length : lengthAt(read, order)
      const why = `a read from ${calledAt} to ${answeredAt} showed ${length} messages`
      const [last, next] = [before[length - 1], after[length]]
      if (last !== undefined && answeredAt < last.at) before[length - 1] = { at: answeredAt, why }
      if (next !== undefined && calledAt > next.at) after[length] = { at: calledAt, why }
    }
    return [...found, ...withoutInstant(thread, order, after, before)]
  }
}

/** Returns the length of the list whose newest message is at this position; 0 if there is none. */
function lengthAt({ newest }: Newest, order: readonly Element[]): number {
  return order.findIndex(({ seq }) => seq === newest) + 1
}

/** Returns the first message of the order for which there is no instant. */
function withoutInstant(
  thread: string,
  order: readonly Element[],
  after: readonly Bound[],
  before: readonly Bound[],
): string[] {
  const earliest = [...before]
  for (let n = order.length - 2; n >= 0; n--) {
    if (earliest[n + 1]!.at < earliest[n]!.at) earliest[n] = earliest[n + 1]!
  }
  let latest: Bound = { at: -1, why: '' }
  for (const [n, { id }] of order.entries()) {
    if (after[n]!.at > latest.at) latest = after[n]!
    if (latest.at < earliest[n]!.at) continue
    const times = `at ${latest.at} ${latest.why}, at ${earliest[n]!.at} ${earliest[n]!.why}`
    return [`L3: message ${n + 1} of ${thread}, ${id}, has no instant: ${times}`]
  }
  return []
}

function compareAppend(append: Append, elements: ReadonlyMap<string, Element>): string[] {
  const { id, content, thread, attempts } = append
  const seen = [...elements.values()].find((each) => each.content === content)
  const there = id === null ? seen : elements.get(id)
  const isAnswered = id !== null
  if (there === undefined) return isAnswered ? [`L1: ${nameOf(append)} is not there`] : []
  if (!isAnswered && attempts === 0) return [`L2: ${nameOf(append)} was refused, and is there`]
  const isOther = there.content !== null && there.content !== content
  const isElsewhere = thread !== null && there.thread !== thread
  if (!isOther && !isElsewhere) return []
  return [`L1: ${nameOf(append)} reads ${there.content} in ${there.thread}`]
}

function compareNewest(read: Newest, order: readonly Element[]): string[] {
  if (lengthAt(read, order) > 0) return []
  return [`L4: a refusal at ${read.answeredAt} shows a message that is nowhere`]
}

function comparePart(read: Read, order: readonly Element[]): string[] {
  const { thread, calledAt, after, before, items, length } = read
  const expected = order.slice(0, length).filter(({ seq }) => seq > after && seq < before)
  const name = `the read of ${thread} at ${calledAt}`
  if (length > order.length) return [`L3: ${name} counts ${length} messages of ${order.length}`]
  const at = expected.findIndex(({ id }, n) => items[n]?.id !== id)
  if (at === -1 && items.length === expected.length) return []
  const n = at === -1 ? expected.length : at
  const [is, was] = [expected[n]?.id ?? 'nothing', items[n]?.id ?? 'nothing']
  return [`L3: ${name} shows ${was} where ${is} was, of ${length} messages`]
}

function nameOf({ content, id }: Append): string {
  return `${content.slice(0, 60)} (${id ?? 'no answer'})`
}
