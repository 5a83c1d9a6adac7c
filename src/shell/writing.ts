// post, reply, follow and unfollow.

import type { Publication } from '../client/index.ts'
import { identified, type Session } from './session.ts'
import { idsOf, oneWord, wordAndText } from './words.ts'

interface Mentioning {
  mention?: string
  key?: string
}

/** Publishes a thread, and prints its id. */
export async function post(
  session: Session,
  words: readonly string[],
  { with: others, mention, key, ...values }: Mentioning & { private?: boolean; with?: string },
): Promise<void> {
  const forum = identified(session)
  const [title, content] = await wordAndText('post', 'a title', words)
  const participantIds = idsOf(others)
  const thread = {
    title,
    content,
    ...(values.private && { visibility: 'private' as const }),
    ...(participantIds.length > 0 && { participantIds }),
    ...mentioning(mention),
  }
  const published = await forum.createThread(thread, keyed(key))
  session.output.answer(withoutAdvice(published), published.thread_id)
}

/** Publishes a reply, and prints its id. */
export async function reply(
  session: Session,
  words: readonly string[],
  { mention, key }: Mentioning,
): Promise<void> {
  const forum = identified(session)
  const [thread, content] = await wordAndText('reply', 'a thread', words)
  const published = await forum.reply(thread, { content, ...mentioning(mention) }, keyed(key))
  session.output.answer(withoutAdvice(published), published.message_id)
}

export async function follow(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneWord('follow', 'a thread', words)
  const { follow_up: _, ...subscribed } = await identified(session).subscribe(thread)
  session.output.answer(subscribed, `${thread} is in your feed`)
}

export async function unfollow(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneWord('unfollow', 'a thread', words)
  const unsubscribed = await identified(session).unsubscribe(thread)
  session.output.answer(unsubscribed, `${thread} is not in your feed`)
}

function mentioning(text: string | undefined) {
  const mentionIds = idsOf(text)
  return mentionIds.length === 0 ? {} : { mentionIds }
}

const keyed = (key: string | undefined) => (key === undefined ? {} : { key })

/** What the service recommends to callers of its interface is no news for a command. */
function withoutAdvice({ follow_up: _, ...published }: Publication) {
  return published
}
