// The memory of agents that use a node while it is killed: what was answered, what was shown, and
// which writes have an unknown outcome. After each start all of it is compared with the node's
// answers.
//
// H1. A write that was answered is there once, as it was answered, and a retry with its key gives
//     the same answer.
// H2. What was shown is shown again, byte for byte.
// H3. A write with an unknown outcome takes effect exactly once when it is retried with its key.

import { until } from '../until.ts'

export interface Agent {
  id: string
  token: string
}

export interface Write {
  by: Agent
  path: string
  key: string
  body: object
}

interface Message {
  id: string
  seq: number
  author_id: string
  content: string
}

interface Publication {
  thread_id?: string
  message_id?: string
}

/** Sends one request. Throws when the node is gone. */
export type Call = (
  method: 'GET' | 'POST',
  path: string,
  by: Agent | null,
  write?: Write,
) => Promise<{ status: number; text: string }>

export class History {
  readonly threads: string[] = []
  readonly unknown = new Set<Write>()
  /** Answers by key, without the fields that differ in a replay. */
  readonly answered = new Map<string, { write: Write; answer: string }>()
  /** Messages by id, as JSON, as they were last shown. */
  readonly shown = new Map<string, string>()
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Sends a write, and remembers its answer, or that its outcome is unknown. */
  async write(write: Write): Promise<Publication> {
    this.unknown.add(write)
    const { status, text } = await until(`an answer to ${write.key}`, async () => {
      const answer = await this.#call('POST', write.path, write.by, write)
      return answer.status === 503 ? null : answer
    })
    if (status !== 201 && status !== 200) throw new Error(`${status} ${text}`)
    this.unknown.delete(write)
    this.answered.set(write.key, { write, answer: withoutReplayed(text) })
    const publication: Publication = JSON.parse(text)
    if (write.path === '/api/threads') this.threads.push(publication.thread_id!)
    return publication
  }

  /** Reads all messages of a thread, and remembers them as shown. */
  async readThread(thread: string): Promise<Message[]> {
    const all: Message[] = []
    for (let after = 0; ; ) {
      const path = `/api/threads/${thread}?limit=100&after=${after}`
      const { status, text } = await this.#call('GET', path, null)
      if (status !== 200) throw new Error(`${status} ${text}`)
      const { messages, next_after, has_more } = JSON.parse(text)
      for (const message of messages) this.shown.set(message.id, JSON.stringify(message))
      all.push(...messages)
      if (!has_more) return all
      after = next_after
    }
  }

  /**
   * Compares all messages, retries the unknown writes and the newest `replays` keys, and compares
   * again. Differences are added to `found` as they appear, because the node may die meanwhile.
   */
  async compare(found: string[], replays: number): Promise<void> {
    await this.#compareMessages(found)
    for (const write of [...this.unknown]) await this.write(write)
    for (const { write, answer } of [...this.answered.values()].slice(-replays)) {
      const { status, text } = await this.#call('POST', write.path, write.by, write)
      const isSame = status === 200 && withoutReplayed(text) === answer
      if (!isSame) found.push(`${write.key}: ${status} ${text} after ${answer}`)
    }
    await this.#compareMessages(found)
  }

  async #compareMessages(found: string[]): Promise<void> {
    const before = new Map(this.shown)
    const there = new Map<string, { thread: string; message: Message }>()
    for (const thread of this.threads) {
      let seq = 0
      for (const message of await this.readThread(thread)) {
        if (message.seq <= seq) found.push(`seq ${message.seq} after ${seq} in ${thread}`)
        if (there.has(message.id)) found.push(`${message.id} is there twice`)
        seq = message.seq
        there.set(message.id, { thread, message })
      }
    }
    for (const [id, json] of before) {
      if (!there.has(id)) found.push(`${id} was shown and is gone`)
      else if (this.shown.get(id) !== json) found.push(`${id} was shown otherwise`)
    }
    for (const { write, answer } of this.answered.values())
      found.push(...missing(write, answer, there))
    const contents = new Set([...there.values()].map(({ message }) => message.content))
    if (contents.size < there.size) found.push(`${there.size - contents.size} are there twice`)
  }
}

/** Returns the defects of the message that this write published, if it published one. */
function missing(
  { by, key, body }: Write,
  answer: string,
  there: ReadonlyMap<string, { thread: string; message: Message }>,
): string[] {
  const { thread_id, message_id }: Publication = JSON.parse(answer)
  if (message_id === undefined) return []
  const entry = there.get(message_id)
  if (entry === undefined) return [`${key} was answered and is gone`]
  const { thread, message } = entry
  if (thread !== thread_id) return [`${key} is in another thread`]
  if (message.content !== (body as { content: string }).content) return [`${key} reads otherwise`]
  return message.author_id === by.id ? [] : [`${key} has another author`]
}

/** Returns an answer without the fields in which a replay may differ. */
function withoutReplayed(text: string): string {
  const { replayed: _replayed, webhook: _webhook, ...rest } = JSON.parse(text)
  return JSON.stringify(rest)
}
