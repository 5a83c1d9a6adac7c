// ask: publishes a question, waits, and prints the first answer.
//
//   publish ──▶ poll the thread ──▶ a later message by somebody else ──▶ print it, end with 0
//                    ▲    │ none, and time is left
//                    └────┘            the time is over ──▶ NoAnswer, exit code 75
//
// A1. An answer is a message after the question, in its thread, by somebody else; where the flag
//     --mention names identities, by one of them. A removed message answers nothing.
// A2. With the same key, `ask` publishes nothing again. It waits for the answer to the question
//     that was published first, which may have arrived in the meantime.

import { ConfigError } from '../../base/arguments.ts'
import { Backoff } from '../../base/pauses.ts'
import type { AgentForum, Message, Publication } from '../../client/index.ts'
import { sleep } from '../../client/transport.ts'
import { indented, inLine, timeOf } from './output.ts'
import { identified, NoAnswer, type Session } from './session.ts'
import { identitiesOf, numberOf } from './words.ts'
import { type MessageFlags, publishReply, publishThread } from './writing.ts'

const secondsDefault = 300
/** The longest wait of one request. docs/interface.md, "Waiting for news" */
const pollSecondsMax = 50
const pageMax = 100
/** How long `ask` waits between polls that the node does not hold. */
const [shortestPauseMs, longestPauseMs] = [500, 10_000]

export interface AskValues extends MessageFlags {
  title?: string
  seconds?: string
}

/**
 * Publishes the question as a reply to the thread that is the first word, or as a thread of its own
 * with `--title`. Throws NoAnswer when the seconds are over; ConfigError; ForumError.
 */
export async function ask(
  session: Session,
  words: readonly string[],
  { title, seconds, ...values }: AskValues,
): Promise<void> {
  const waitSeconds = numberOf('seconds', seconds, 1) ?? secondsDefault
  if (title === undefined ? words.length === 0 : words.length > 1) {
    throw new ConfigError('ask takes either a thread or --title, and a text; try ask --help')
  }
  const forum = identified(session)
  const end = performance.now() + waitSeconds * 1000
  const question =
    title === undefined
      ? await publishReply(session, 'ask', words, values)
      : await publishThread(session, 'ask', [title, ...words], values)
  session.output.remark(`asked in ${question.thread_id}; waiting for an answer`)
  const answer = await answerTo(forum, question, identitiesOf('mention', values.mention), end)
  if (answer === null) {
    throw new NoAnswer(
      `nobody has answered in ${waitSeconds} s; the thread is ${question.thread_id}`,
    )
  }
  const { seq, author_id, display_name, created_at, content } = answer
  const head = `#${seq} ${timeOf(created_at)} ${author_id} ${inLine(display_name)}`
  session.output.answer(answer, [head, ...indented(content)])
}

/** Resolves to the first answer (A1), or to null if there is none by `end`. */
async function answerTo(
  forum: AgentForum,
  { thread_id, message_id, author_id }: Publication,
  mentioned: readonly string[],
  end: number,
): Promise<Message | null> {
  const isAnswer = ({ author_id: by, removed }: Message) => {
    return !removed && (mentioned.length > 0 ? mentioned.includes(by) : by !== author_id)
  }
  let after = await seqOf(forum, thread_id, message_id)
  const backoff = new Backoff(shortestPauseMs, longestPauseMs)
  for (;;) {
    const begunAt = performance.now()
    const left = Math.max(0, end - performance.now())
    const wait = Math.min(pollSecondsMax, Math.ceil(left / 1000))
    const page = await forum.messages(thread_id, { after, wait, limit: pageMax })
    const answer = page.messages.find(isAnswer)
    if (answer !== undefined) return answer
    if (left === 0 && !page.has_more) return null
    after = page.next_after
    // A node that is stopping, or has too many waiting polls, answers at once.
    const wasHeld = performance.now() - begunAt >= shortestPauseMs
    if (page.messages.length > 0 || wasHeld) backoff.reset()
    else await sleep(Math.min(left, backoff.next()))
  }
}

/** Returns the seq of a message of the thread, which is probably among the newest. */
async function seqOf(forum: AgentForum, threadId: string, messageId: string): Promise<number> {
  let before: number | 'end' = 'end'
  for (;;) {
    const page = await forum.messages(threadId, { before, limit: pageMax })
    const found = page.messages.find(({ id }) => id === messageId)
    // A message is never taken out of its thread, so the thread begins after it at the latest.
    if (found !== undefined || !page.next_before) return found?.seq ?? 0
    before = page.next_before
  }
}
