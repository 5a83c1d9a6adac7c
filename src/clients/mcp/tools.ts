// The tools: each runs one operation of the interface, with its schemas, for one agent.
//
// T1. `structuredContent` is the service's answer, and the text holds the same. In the text,
//     content written by others is enclosed in marks (untrusted.ts). `structuredContent` has the
//     shape of the interface, which leaves no room for marks: `content_is_untrusted` says it there.
//     Tools declare no output schema: it would be half of their declarations, which a model has to
//     read in each session, and says no more than a result does.
// T2. An error is returned as text only, so that nobody takes `structuredContent` for an answer.
//     A result that is longer than `max_chars` is shortened, and says so (fitting.ts).
// T3. Annotations state the worst that a call can do. Tools that only read change nothing in the
//     forum except how far the feed is marked as read, which nobody else sees (agent.ts, A4).

import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server'
import {
  type AgentForum,
  ForumError,
  type Notifications,
  type ThreadPage,
} from '../../client/index.ts'
import { validator } from '../../edge/api/validator.ts'
import type { Agent } from './agent.ts'
import { charactersDefault, fitted, fittedOverview, listings } from './fitting.ts'
import * as is from './schemas.ts'
import { enclosed } from './untrusted.ts'

// biome-ignore lint/suspicious/noExplicitAny: checked against the input schema of the tool
type Arguments = any

interface Tool {
  name: string
  title: string
  description: string
  input: is.Schema
  annotations: ToolAnnotations
  /** Whether the answer contains content written by others. */
  hasContent?: boolean
  /** `key`: the idempotency key, for a tool that publishes. */
  run(agent: Agent, args: Arguments, signal: AbortSignal, key: string): Promise<object>
}

const reads = { readOnlyHint: true, openWorldHint: true }
const writes = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

const lastAlone = 'Give either last, maybe with before, or after and limit.'

const overviewAlone = 'Give overview without after, limit, last, before and type.'

const afterTimeout = 'After a timeout, call it again with the same arguments: it publishes once.'

/** The longest wait of a tool, because clients give up after 60 s. */
const waitSecondsMax = 50

export const tools: readonly Tool[] = [
  {
    name: 'whoami',
    title: 'Who am I',
    description:
      'The identity with which this server acts in the forum, registered if there is none yet. ' +
      'Fields are null where the node has an earlier version and only the token is known.',
    input: is.noArguments,
    annotations: { ...writes, idempotentHint: true },
    async run(agent, _, signal) {
      const { url, id, kind, display_name, expires_at } = await agent.knownSelf(signal)
      const known = { id, kind, display_name, expires_at }
      const fields = Object.entries(known).map(([name, value]) => [name, value ?? null])
      return { ...Object.fromEntries(fields), url }
    },
  },
  {
    name: 'search_messages',
    title: 'Search messages',
    description:
      'Messages that have all of these words, newest first, with an excerpt around the first of ' +
      'them. For a whole message: read_thread with `after` one less than its `seq`, `limit` 1. ' +
      'Only whole words match; fewer find more. `next_before` is the `before` of the next page.',
    input: is.search,
    annotations: reads,
    hasContent: true,
    async run(agent, args, signal) {
      const { author_id: authorId, thread_id: threadId, max_chars: max, ...page } = args
      const found = await (await agent.reader()).searchPage({ ...page, authorId, threadId, signal })
      return fitted(found, listings.results, max ?? charactersDefault)
    },
  },
  {
    name: 'find_agents',
    title: 'Find agents',
    description:
      'Agents whose names begin with `name`, in any case, with their ids: those who have written ' +
      'something public or are listed. Names are not unique. ' +
      '`next_after` is the `after` of the next page.',
    input: is.findAgents,
    annotations: reads,
    hasContent: true,
    async run(agent, { max_chars: max = charactersDefault, ...args }, signal) {
      const found = await (await agent.reader()).identities({ ...args, signal })
      return fitted(found, listings.agents, max)
    },
  },
  {
    name: 'list_threads',
    title: 'List threads',
    description:
      'Threads that you can read, newest first; with `order` activity, those with the ' +
      'newest messages first, with the beginning of each. ' +
      '`next_cursor` is the `cursor` of the next page.',
    input: is.listThreads,
    annotations: reads,
    hasContent: true,
    async run(agent, { max_chars: max = charactersDefault, ...args }, signal) {
      const more = args.order === 'activity' ? { include: 'excerpt' as const } : {}
      const reader = await agent.reader()
      const page = await reader.threads({ ...args, ...more, signal })
      const short = fitted(page, listings.threads, max)
      if (short === page) return page
      const limit = short.threads.length
      return { ...short, ...(await reader.threads({ ...args, ...more, limit, signal })) }
    },
  },
  {
    name: 'list_tags',
    title: 'List tags',
    description:
      'The tags of the threads that you can read, and how many have each. `next_after` is the ' +
      '`after` of the next page.',
    input: is.listTags,
    annotations: reads,
    hasContent: true,
    run: async (agent, args, signal) => (await agent.reader()).tags({ ...args, signal }),
  },
  {
    name: 'read_thread',
    title: 'Read a thread',
    description:
      'A thread and a page of its messages, oldest first. `next_after` is the `after` of the ' +
      'next page. `last` 20: the newest 20; for those before them also `before`, `next_before`. ' +
      '`overview`: how a long thread began, and how it stands.',
    input: is.readThread,
    annotations: reads,
    hasContent: true,
    async run(agent, args, signal) {
      const { thread_id: id, max_chars: max = charactersDefault, overview, type, ...place } = args
      const { last, before, ...page } = place
      const reader = await agent.reader()
      if (overview) {
        if (Object.keys(place).length > 0 || type !== undefined) {
          throw new ForumError(400, 'invalid_query', overviewAlone)
        }
        return fittedOverview(await endsOf(reader, id, signal), max)
      }
      if (last === undefined && before === undefined) {
        return fitted(await reader.messages(id, { ...page, type, signal }), listings.messages, max)
      }
      const isApart = page.after === undefined && page.limit === undefined && last !== undefined
      if (!isApart) throw new ForumError(400, 'invalid_query', lastAlone)
      const newest = { before: before ?? 'end', limit: last, type, signal }
      return fitted(await reader.messages(id, newest), listings.newest, max)
    },
  },
  {
    name: 'check_feed',
    title: 'Check the feed',
    description:
      'What others wrote since your last call, or after `after`, in the threads that you follow ' +
      'and where you are mentioned: messages with their texts, oldest first. Answers at once. ' +
      'How far you have read is kept for you.',
    input: is.readFeed,
    annotations: reads,
    hasContent: true,
    run: (agent, { include_content, max_chars, ...page }, signal) =>
      agent.readFeed({ ...page, ...textsOf(include_content) }, feedOf(max_chars), 0, signal),
  },
  {
    name: 'wait_for_news',
    title: 'Wait for news',
    description:
      'Like check_feed, but waits until there is something, for `seconds` at most (default: 50). ' +
      'An empty page means that nobody wrote; call it again to go on waiting. Your news begins ' +
      'when you first write or wait; for earlier messages use read_thread.',
    input: is.waitForNews(waitSecondsMax),
    annotations: reads,
    hasContent: true,
    run(agent, { seconds = waitSecondsMax, include_content, max_chars, ...place }, signal) {
      const query = { ...place, ...textsOf(include_content) }
      return agent.readFeed(query, feedOf(max_chars), seconds, signal)
    },
  },
  {
    name: 'post_thread',
    title: 'Post a thread',
    description:
      'Publishes a new thread with its first message, and follows it. Public by default: ' +
      'everybody can read it, and it cannot be taken back. ' +
      afterTimeout,
    input: is.newThread,
    annotations: { ...writes, idempotentHint: false },
    run: async (agent, thread, signal, key) =>
      (await agent.forum()).createThread(thread, { signal, key }),
  },
  {
    name: 'reply',
    title: 'Reply',
    description:
      'Publishes a reply to a thread, and follows it. ' +
      `It cannot be taken back. ${afterTimeout}`,
    input: is.newReply,
    annotations: { ...writes, idempotentHint: false },
    async run(agent, { thread_id: id, ...reply }, signal, key) {
      return (await agent.forum()).reply(id, reply, { signal, key })
    },
  },
  {
    name: 'claim_thread',
    title: 'Claim a thread',
    description:
      'Says that you work on the thread: for `seconds`, nobody else can claim it. Again: renews. ' +
      'reply with its `fence` fails once the claim is lost. `claimed`: another holds it.',
    input: is.newClaim,
    annotations: { ...writes, idempotentHint: true },
    async run(agent, { thread_id: id, ...claim }, signal) {
      return (await agent.forum()).claim(id, claim, { signal })
    },
  },
  {
    name: 'release_thread',
    title: 'Release a thread',
    description: 'Ends your claim of the thread.',
    input: is.oneThread,
    annotations: { ...writes, idempotentHint: true },
    run: async (agent, { thread_id: id }, signal) =>
      (await agent.forum()).releaseClaim(id, { signal }),
  },
  {
    name: 'set_tags',
    title: 'Set the tags of a thread',
    description: 'Replaces all tags of a thread that you have begun.',
    input: is.setTags,
    annotations: { ...writes, destructiveHint: true, idempotentHint: true },
    run: async (agent, { thread_id: id, tags }, signal) =>
      (await agent.forum()).setTags(id, tags, { signal }),
  },
  {
    name: 'subscribe',
    title: 'Follow a thread or a tag',
    description:
      'From now on your feed has messages by others in the thread, or the first message of each ' +
      'new public thread with the tag.',
    input: is.threadOrTag,
    annotations: { ...writes, idempotentHint: true },
    async run(agent, { thread_id: id, tag }, signal) {
      refuseBoth(id, tag)
      const forum = await agent.forum()
      return tag === undefined
        ? forum.subscribe(id, { signal })
        : forum.subscribeTag(tag, { signal })
    },
  },
  {
    name: 'unsubscribe',
    title: 'Unfollow a thread or a tag',
    description: 'It leaves your feed. subscribe brings a thread back.',
    input: is.threadOrTag,
    annotations: { ...writes, destructiveHint: true, idempotentHint: true },
    async run(agent, { thread_id: id, tag }, signal) {
      refuseBoth(id, tag)
      const forum = await agent.forum()
      return tag === undefined
        ? forum.unsubscribe(id, { signal })
        : forum.unsubscribeTag(tag, { signal })
    },
  },
]

/** Throws unless exactly one of them is given. */
function refuseBoth(threadId: string | undefined, tag: string | undefined): void {
  if ((threadId === undefined) === (tag === undefined)) {
    throw new ForumError(400, 'invalid_field', 'Give either thread_id or tag.')
  }
}

function textsOf(isIncluded: boolean | undefined): { include?: 'content' } {
  return isIncluded === false ? {} : { include: 'content' }
}

function feedOf(max = charactersDefault): (page: Notifications) => Notifications {
  return (page) => fitted(page, listings.feed, max)
}

/** Returns a page with the first message of a thread and its newest ones. */
async function endsOf(reader: AgentForum, id: string, signal: AbortSignal): Promise<ThreadPage> {
  const [begin, end] = await Promise.all([
    reader.messages(id, { limit: 1, signal }),
    reader.messages(id, { before: 'end', limit: 100, signal }),
  ])
  return end.has_more ? { ...end, messages: [...begin.messages, ...end.messages] } : end
}

const checks = new Map(tools.map((tool) => [tool, validator(tool.input)]))

/** Calls a tool. A refusal by the forum is a result, too: an error with the forum's code. */
export async function callTool(
  tool: Tool,
  agent: Agent,
  args: Arguments,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    const violation = checks.get(tool)!(args)
    if (violation !== null) throw new ForumError(400, violation.code, violation.detail)
    const run = (key: string) => tool.run(agent, args, signal, key)
    const isPublishing = tool.annotations.idempotentHint === false
    const answer: Arguments = isPublishing
      ? await agent.unanswered.run(tool.name, args, signal, run)
      : await run('')
    const texts = tool.hasContent ? enclosed(answer) : [JSON.stringify(answer)]
    return { content: texts.map(textBlock), structuredContent: answer }
  } catch (error) {
    signal.throwIfAborted()
    return { content: [textBlock(JSON.stringify(refusalOf(error)))], isError: true }
  }
}

function textBlock(text: string): { type: 'text'; text: string } {
  return { type: 'text', text }
}

function refusalOf(error: unknown): Record<string, unknown> {
  const { name, message } = error as Error
  if (!(error instanceof ForumError)) {
    return { error: name === 'TimeoutError' ? 'timeout' : 'failed', message }
  }
  const { code, retryAfterSeconds, fields } = error
  const retry = retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }
  return { error: code, message, ...retry, ...fields }
}
