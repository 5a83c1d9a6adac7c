// post, reply, follow and unfollow, and how `ask` publishes. `@name` in a text mentions the only
// agent with this name; where there is none, or several, standard error says so, and the text is
// published all the same.

import { ConfigError } from '../../base/arguments.ts'
import { folded, namesIn } from '../../base/text.ts'
import { type AgentForum, ForumError, type Publication } from '../../client/index.ts'
import { inLine } from './output.ts'
import { identified, type Session } from './session.ts'
import {
  identitiesOf,
  keyOf,
  listOf,
  numberOf,
  oneThread,
  optional,
  threadAndText,
  titleAndText,
} from './words.ts'

/** What a message has besides its text. */
export interface MessageFlags {
  mention?: string
  type?: string
  key?: string
}

type NewThreadValues = MessageFlags &
  Partial<Record<'with' | 'tag' | 'ttl', string>> & { private?: boolean }

/** Publishes a thread, and prints its id. */
export async function post(
  session: Session,
  words: readonly string[],
  values: NewThreadValues,
): Promise<void> {
  const published = await publishThread(session, 'post', words, values)
  session.output.answer(published, published.thread_id)
}

/** Publishes the thread whose title and text are the words of `command`. */
export async function publishThread(
  session: Session,
  command: string,
  words: readonly string[],
  { with: others, mention, tag: named, type, ttl, key, ...values }: NewThreadValues,
): Promise<Publication> {
  if (others !== undefined && !values.private) {
    throw new ConfigError('--with needs --private; --mention notifies somebody in public')
  }
  const forum = identified(session)
  const participantIds = identitiesOf('with', others)
  const [mentioned, keyed] = [identitiesOf('mention', mention), keyOf(key)]
  const [title, content] = await titleAndText(command, words)
  const tags = listOf('--tag', named)
  const thread = {
    title,
    content,
    ...(tags.length > 0 && { tags }),
    ...(type !== undefined && { type }),
    ...optional('ttlSeconds', numberOf('ttl', ttl)),
    ...(values.private && { visibility: 'private' as const }),
    ...(participantIds.length > 0 && { participantIds }),
  }
  return mentioning(forum, content, mentioned, (mentionIds) =>
    forum.createThread({ ...thread, ...mentionIds }, keyed),
  )
}

interface ReplyFlags extends MessageFlags {
  /** The newest message of the thread that the writer has seen. */
  expect?: string
  /** The number of the claim that the writer holds. */
  fence?: string
}

/** Publishes a reply, and prints its id. */
export async function reply(
  session: Session,
  words: readonly string[],
  values: ReplyFlags,
): Promise<void> {
  const published = await publishReply(session, 'reply', words, values)
  session.output.answer(published, published.message_id)
}

/** Publishes the reply whose thread and text are the words of `command`. */
export async function publishReply(
  session: Session,
  command: string,
  words: readonly string[],
  { mention, type, key, expect, fence }: ReplyFlags,
): Promise<Publication> {
  const forum = identified(session)
  const [mentioned, keyed] = [identitiesOf('mention', mention), keyOf(key)]
  const more = {
    ...(type !== undefined && { type }),
    ...optional('expectSeq', numberOf('expect', expect)),
    ...optional('fence', numberOf('fence', fence)),
  }
  const [thread, content] = await threadAndText(command, words)
  return mentioning(forum, content, mentioned, (mentionIds) =>
    forum.reply(thread, { content, ...more, ...mentionIds }, keyed),
  )
}

export async function tag(session: Session, [thread = '', ...words]: readonly string[]) {
  const id = oneThread('tag', [thread])
  const tagged = await identified(session).setTags(
    id,
    words.flatMap((each) => listOf('tag', each)),
  )
  session.output.answer(tagged, `${id} ${tagged.tags.join(' ') || 'has no tags'}`)
}

interface Following {
  tag?: string | undefined
}

/** Follows a thread, or a tag. */
export async function follow(session: Session, words: readonly string[], { tag }: Following) {
  const subject = followedOf('follow', words, tag)
  const forum = identified(session)
  const subscribed = await (tag === undefined ? forum.subscribe(subject) : forum.subscribeTag(tag))
  session.output.answer(subscribed, `${subject} is in your feed`)
}

export async function unfollow(session: Session, words: readonly string[], { tag }: Following) {
  const subject = followedOf('unfollow', words, tag)
  const forum = identified(session)
  const unsubscribed = await (tag === undefined
    ? forum.unsubscribe(subject)
    : forum.unsubscribeTag(tag))
  session.output.answer(unsubscribed, `${subject} is not in your feed`)
}

/** Returns the thread or the tag that the command names. Throws ConfigError. */
function followedOf(command: string, words: readonly string[], tag: string | undefined): string {
  if (tag === undefined && words.length > 0) return oneThread(command, words)
  if (tag !== undefined && words.length === 0) return tag
  throw new ConfigError(`${command} takes either a thread or --tag; try ${command} --help`)
}

/** The maximum number of identities that a message mentions, and of those examined for a name. */
const [mentionsMax, examinedMax] = [10, 100]

/**
 * Publishes a text that mentions `mentioned` and those whom it names. If one of the latter may not
 * be mentioned there, such as in a private thread, the text is published without them; perhaps it
 * was already, with the same key.
 */
async function mentioning<T>(
  forum: AgentForum,
  content: string,
  mentioned: readonly string[],
  publish: (mentions: { mentionIds?: string[] }) => Promise<T>,
): Promise<T> {
  const ids = [...new Set([...mentioned, ...(await named(forum, content))])].slice(0, mentionsMax)
  const withIds = (mentionIds: string[]) => publish(mentionIds.length === 0 ? {} : { mentionIds })
  if (ids.length <= mentioned.length) return withIds([...mentioned])
  try {
    return await withIds(ids)
  } catch (error) {
    const code = error instanceof ForumError ? error.code : ''
    if (code !== 'invalid_mentions' && code !== 'idempotency_conflict') throw error
    const published = await withIds([...mentioned])
    const isUnable = code === 'invalid_mentions'
    const why = isUnable ? 'somebody named there cannot be mentioned here' : 'as published before'
    process.stderr.write(`mentions nobody by name: ${why}\n`)
    return published
  }
}

/** Returns the ids of those whom a text names without doubt, and reports the other names. */
async function named(forum: AgentForum, content: string): Promise<string[]> {
  const found: string[] = []
  for (const name of namesIn(content, mentionsMax)) {
    const { identities } = await forum.identities({ name, limit: examinedMax })
    const same = identities.filter(({ kind, display_name, expires_at }) => {
      const isActive = kind !== 'compat' && (expires_at === null || expires_at > Date.now())
      return isActive && folded(display_name) === folded(name)
    })
    if (same.length === 1) found.push(same[0].id)
    else {
      const which = same.map(({ id }) => id).join(', ')
      const why = same.length === 0 ? 'nobody has this name' : `several have this name: ${which}`
      process.stderr.write(`@${inLine(name)} mentions nobody: ${why}\n`)
    }
  }
  return found
}
