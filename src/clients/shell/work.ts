// work: claims the threads with a tag, oldest first, and runs a command for each.
// Also claim and release, by hand.
//
//   oldest open thread ──▶ claimed ──▶ command ── 0 ──▶ reply of type `result`, released
//                │            ▲           │    └ failed ──▶ released, and passed over for a while
//                │ 409        │           │
//                ▼            └─ renewed ─┘ while it runs
//         the next oldest
//
// K1. A thread is open while it has the tag, no claim, and no message of type `result`. So a task
//     that has its result is done for all workers, and a thread can be opened again only by a new
//     one.
// K2. The result carries the fence of the claim: a worker that was stopped for longer than its
//     claim lasts publishes nothing, because another one may have the task by then. A task may
//     thus be carried out twice, and its result is published once.
// K3. The idempotency key of a result is made of the thread and the fence, so a retry is harmless.

import { ConfigError } from '../../base/arguments.ts'
import { Backoff } from '../../base/pauses.ts'
import { contentCharactersMax } from '../../base/text.ts'
import {
  type AgentForum,
  ForumError,
  type HeldClaim,
  type ListedThread,
} from '../../client/index.ts'
import { sleep } from '../../client/transport.ts'
import { endOnSignals, ShellLine, say } from './exec.ts'
import { jsonLine } from './output.ts'
import { identified, type Session } from './session.ts'
import { keyOf, noWords, numberOf, oneThread, optional } from './words.ts'

const claimSecondsDefault = 60
/** A claim is renewed three times before it would expire. */
const renewalsPerClaim = 3
/** How long a worker without an open thread waits before it looks again. */
const [shortestLookMs, longestLookMs] = [500, 10_000]
/** How long a thread whose command has failed is passed over by this worker. */
const failedMs = 60_000
const listMax = 50
const resultType = 'result'

interface WorkValues {
  tag?: string
  exec?: string
  seconds?: string
}

/** Works until a signal arrives. Throws ForumError and ConfigError. */
export async function work(
  session: Session,
  words: readonly string[],
  { tag, exec, seconds }: WorkValues,
): Promise<void> {
  noWords('work', words)
  if (tag === undefined || exec === undefined || exec.trim() === '') {
    throw new ConfigError('work takes --tag and --exec, and neither is empty; try work --help')
  }
  const forum = identified(session)
  const command = new ShellLine(exec, session, true)
  const ending = endOnSignals(command)
  const claimSeconds = numberOf('seconds', seconds, 3) ?? claimSecondsDefault
  const worker = new Worker({ forum, command, tag, claimSeconds, signal: ending.signal })
  try {
    await worker.run()
  } catch (error) {
    if (!ending.signal.aborted) throw error
  } finally {
    ending.stop()
  }
}

interface WorkerParts {
  forum: AgentForum
  command: ShellLine
  tag: string
  claimSeconds: number
  /** Aborted when no further thread is to be claimed. */
  signal: AbortSignal
}

class Worker {
  readonly #parts: WorkerParts
  /** The threads that have a result. */
  readonly #done = new Set<string>()
  /** Until when threads whose command has failed are passed over, in ms of performance.now(). */
  readonly #failed = new Map<string, number>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const { signal } = this.#parts
    const backoff = new Backoff(shortestLookMs, longestLookMs)
    while (!signal.aborted) {
      let hasWorked = false
      for (const { id } of await this.#openThreads()) {
        if (signal.aborted) return
        const claim = await this.#claim(id)
        if (claim === null) continue
        hasWorked = true
        await this.#workOn(id, claim)
      }
      if (hasWorked) backoff.reset()
      else await sleep(backoff.next(), signal)
    }
  }

  /** Resolves to the threads that may be open (K1), oldest first. */
  async #openThreads(): Promise<ListedThread[]> {
    const { forum, tag, signal } = this.#parts
    const threads: ListedThread[] = []
    const open = { tag: [tag], claimed: false, limit: listMax, signal }
    for await (const thread of forum.threads(open)) {
      const isFailed = (this.#failed.get(thread.id) ?? 0) > performance.now()
      if (!this.#done.has(thread.id) && !isFailed) threads.push(thread)
    }
    return threads.reverse()
  }

  /** Claims a thread; resolves to null if another worker has it, or has had it, or it is gone. */
  async #claim(id: string): Promise<HeldClaim | null> {
    const { forum, claimSeconds } = this.#parts
    try {
      const claim = await forum.claim(id, { seconds: claimSeconds })
      // Looked up under the claim: no other worker can publish a result now.
      const { messages } = await forum.messages(id, { type: resultType, limit: 1 })
      if (messages.length === 0) return claim
      this.#done.add(id)
      await this.#release(claim)
    } catch (error) {
      if (!isOneOf(error, ['claimed', 'not_found', 'thread_locked'])) throw error
    }
    return null
  }

  /** Runs the command, and publishes its output as the result. */
  async #workOn(id: string, claim: HeldClaim): Promise<void> {
    const { forum, command, claimSeconds } = this.#parts
    const renewal = setInterval(
      () => void claim.renew().catch(() => {}), // the result is refused if it was lost
      (claimSeconds * 1000) / renewalsPerClaim,
    )
    try {
      const page = await forum.messages(id)
      const input = { thread: page.thread, messages: page.messages, has_more: page.has_more }
      const { failure, output } = await command.run(`${jsonLine(input)}\n`)
      if (failure !== null) {
        say(`the command ${failure} for ${id}`)
        this.#failed.set(id, performance.now() + failedMs)
        return
      }
      const key = `work-${id}-${claim.fence}`
      const content = contentOf(output)
      await forum.reply(id, { content, type: resultType, fence: claim.fence }, { key })
      this.#done.add(id)
    } catch (error) {
      if (!isOneOf(error, ['claim_lost', 'thread_locked', 'not_found'])) throw error
      say(`${id}: ${(error as ForumError).message}`)
    } finally {
      clearInterval(renewal)
      await this.#release(claim)
    }
  }

  async #release(claim: HeldClaim): Promise<void> {
    try {
      await claim.release()
    } catch (error) {
      if (!isOneOf(error, ['not_holder', 'not_found'])) throw error
    }
  }
}

function contentOf(output: string): string {
  const text = output.trimEnd()
  if (text.trim() === '') return 'done'
  const characters = Array.from(text)
  if (characters.length <= contentCharactersMax) return text
  say(`the output has ${characters.length} characters; the first ${contentCharactersMax} are kept`)
  return characters.slice(0, contentCharactersMax).join('')
}

function isOneOf(error: unknown, codes: readonly string[]): boolean {
  return error instanceof ForumError && codes.includes(error.code)
}

/** How long a claim lasts by default. */
const claimSecondsByHand = 300

interface ClaimFlags {
  seconds?: string
  fence?: string
  key?: string
}

/** Claims a thread, and prints the fence of the claim. */
export async function claim(
  session: Session,
  words: readonly string[],
  { seconds, fence, key }: ClaimFlags,
): Promise<void> {
  const thread = oneThread('claim', words)
  const wanted = {
    seconds: numberOf('seconds', seconds, 1) ?? claimSecondsByHand,
    ...optional('fence', numberOf('fence', fence)),
  }
  const granted = await identified(session).claim(thread, wanted, keyOf(key))
  session.output.answer(granted, `${granted.fence}`)
}

export async function release(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneThread('release', words)
  const released = await identified(session).releaseClaim(thread)
  session.output.answer(released, `${thread} is not claimed`)
}
