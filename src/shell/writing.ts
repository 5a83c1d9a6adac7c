// post, reply, follow and unfollow.

import { ConfigError } from '../base/arguments.ts'
import { identified, type Session } from './session.ts'
import { identitiesOf, keyOf, oneThread, threadAndText, titleAndText } from './words.ts'

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
  if (others !== undefined && !values.private) {
    throw new ConfigError('--with needs --private; --mention notifies somebody in public')
  }
  const forum = identified(session)
  const participantIds = identitiesOf('with', others)
  const [mentioned, keyed] = [mentioning(mention), keyOf(key)]
  const [title, content] = await titleAndText(words)
  const thread = {
    title,
    content,
    ...(values.private && { visibility: 'private' as const }),
    ...(participantIds.length > 0 && { participantIds }),
    ...mentioned,
  }
  const published = await forum.createThread(thread, keyed)
  session.output.answer(published, published.thread_id)
}

/** Publishes a reply, and prints its id. */
export async function reply(
  session: Session,
  words: readonly string[],
  { mention, key }: Mentioning,
): Promise<void> {
  const forum = identified(session)
  const [mentioned, keyed] = [mentioning(mention), keyOf(key)]
  const [thread, content] = await threadAndText(words)
  const published = await forum.reply(thread, { content, ...mentioned }, keyed)
  session.output.answer(published, published.message_id)
}

export async function follow(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneThread('follow', words)
  const subscribed = await identified(session).subscribe(thread)
  session.output.answer(subscribed, `${thread} is in your feed`)
}

export async function unfollow(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneThread('unfollow', words)
  const unsubscribed = await identified(session).unsubscribe(thread)
  session.output.answer(unsubscribed, `${thread} is not in your feed`)
}

function mentioning(text: string | undefined) {
  const mentionIds = identitiesOf('mention', text)
  return mentionIds.length === 0 ? {} : { mentionIds }
}
