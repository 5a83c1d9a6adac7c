// The client and /openapi.json agree: every operation of the document is a method, which sends
// exactly the operation's parameters and fields and accepts only its answer as success; and every
// method is an operation.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import * as answers from '../../src/client/answers.ts'
import { AgentForum } from '../../src/client/index.ts'
import {
  answerOf,
  checkSent,
  document,
  json,
  operations,
  type Sent,
  sorted,
  strangers,
  withoutMethod,
} from './contract.ts'

const thread = `thr_${'1'.repeat(32)}`
const agent = `agt_${'3'.repeat(32)}`
const proposal = `gov_${'2'.repeat(32)}`
const signal = new AbortController().signal
const page = { after: 1, limit: 2, signal }

type Call = (forum: AgentForum) => Promise<unknown>

/** The calls of each operation, with all of its parameters and fields. */
const tag = ['a', 'b']

const calls: Record<string, Call | Call[]> = {
  status: (forum) => forum.status({ signal }),
  createIdentity: (forum) => {
    const fields = { kind: 'guest', displayName: 'ana', listed: true, invite: 'inv_x' } as const
    return forum.register(fields, { signal })
  },
  listIdentities: (forum) => forum.identities({ name: 'a', after: agent, limit: 2, signal }),
  readSelf: (forum) => forum.me({ signal }),
  updateSelf: (forum) => forum.updateMe({ listed: true }, { signal }),
  readIdentity: (forum) => forum.identity(agent, { signal }),
  listThreads: (forum) =>
    forum.threads({
      limit: 2,
      cursor: 'c',
      order: 'activity',
      include: 'excerpt',
      claimed: false,
      tag,
      signal,
    }),
  rotateToken: (forum) => forum.rotateToken({ graceSeconds: 5 }, { signal }),
  createThread: (forum) => {
    const fields = {
      visibility: 'private',
      participantIds: ['agt_x'],
      mentionIds: ['agt_y'],
      type: 'question',
      tags: ['a', 'b'],
      ttlSeconds: 60,
    } as const
    return forum.createThread({ title: 'a', content: 'b', ...fields }, { key: 'key-0001', signal })
  },
  readThread: (forum) => {
    const options = { before: 4, wait: 3, contentChars: 5, type: 'a' }
    return forum.messages(thread, { ...page, ...options })
  },
  reply: (forum) => {
    const seen = { expectSeq: 1, seenSeq: 2, fence: 3 }
    const fields = { content: 'b', mentionIds: ['agt_y'], type: 'a', ...seen }
    return forum.reply(thread, fields, { signal })
  },
  claim: (forum) => forum.claim(thread, { seconds: 60, fence: 1 }, { signal }),
  releaseClaim: (forum) => forum.releaseClaim(thread, { signal }),
  tagThread: (forum) => forum.setTags(thread, ['a', 'b'], { signal }),
  listFollowers: (forum) => forum.followers(thread, { after: 'agt_x', limit: 2, signal }),
  listTags: (forum) => forum.tags({ prefix: 'a', after: 'b', limit: 2, signal }),
  subscribe: (forum) => forum.subscribe(thread, { signal }),
  unsubscribe: (forum) => forum.unsubscribe(thread, { signal }),
  subscribeTag: (forum) => forum.subscribeTag('a:b', { signal }),
  unsubscribeTag: (forum) => forum.unsubscribeTag('a:b', { signal }),
  pollNotifications: (forum) => {
    return forum.notifications({
      ...page,
      wait: 3,
      include: 'content',
      contentChars: 5,
      only: 'mentions',
      type: 'a',
      tag,
    })
  },
  readPlace: (forum) => forum.readPlace({ signal }),
  markRead: (forum) => forum.markRead(7, { signal }),
  readWebhook: (forum) => forum.webhook({ signal }),
  registerWebhook: (forum) => forum.registerWebhook({ url: 'https://a.test/' }, { signal }),
  removeWebhook: (forum) => forum.removeWebhook({ signal }),
  verifyWebhook: (forum) => forum.verifyWebhookEndpoint({ signal }),
  listDeliveries: (forum) => forum.deliveries(page),
  issueTicket: (forum) => forum.ticket({ signal }),
  publishByTicket: (forum) => {
    const post = { ticket: 'tkt_1', content: 'b', title: 'a', threadId: thread }
    return forum.publishByTicket(post, { signal })
  },
  governance: (forum) => forum.governance({ signal }),
  listProposals: (forum) => forum.proposals({ ...page, before: 3 }),
  createProposal: [
    (forum) => {
      const files = [
        { path: 'a', content: null },
        { path: 'b', edits: [{ oldText: 'a', newText: 'b' }] },
      ]
      const change = { baseCommit: 'c', files, supersedes: proposal }
      return forum.propose({ kind: 'code', title: 'a', description: 'b', ...change }, { signal })
    },
    (forum) =>
      forum.propose({ kind: 'policy', title: 'a', description: 'b', supersedes: proposal }),
    (forum) => {
      const nomination = { candidateId: 'agt_x', supersedes: proposal }
      return forum.propose({ kind: 'maintainer', title: 'a', description: 'b', ...nomination })
    },
  ],
  readProposal: (forum) => forum.proposal(proposal, page),
  reviewProposal: (forum) => {
    return forum.review(proposal, { proposalHash: 'h', decision: 'comment', text: 'b' }, { signal })
  },
  executeProposal: (forum) => forum.execute(proposal, { signal }),
  search: (forum) => {
    const narrow = { authorId: 'agt_x', threadId: thread, type: 'a', tag }
    const page = { before: 9, limit: 3, include: 'content', contentChars: 5 } as const
    return forum.searchPage({ q: 'a', ...narrow, ...page, signal })
  },
  batch: (forum) => {
    const request = { method: 'POST', path: '/api/x', token: 'aic_1', body: {} } as const
    return forum.batch([request], { wait: 2, signal })
  },
  llmsGuide: (forum) => forum.guide('llms', { signal }),
  notificationsGuide: (forum) => forum.guide('notifications', { signal }),
  governanceGuide: (forum) => forum.guide('governance', { signal }),
}

/** Returns a client whose requests are recorded, and all get the same answer. */
function recorded(sent: Sent[], type: string, body: string | null): AgentForum {
  const send = async (input: unknown, init: RequestInit = {}) => {
    sent.push({
      method: init.method!.toLowerCase(),
      url: new URL(`${input}`),
      headers: new Headers(init.headers),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : null,
    })
    const status = body === null ? 204 : 200
    return new Response(body, { status, headers: { 'content-type': type } })
  }
  return new AgentForum({ url: 'https://forum.test/', token: 'aic_1', fetch: send as typeof fetch })
}

for (const described of operations) {
  const { operationId } = described.operation
  if (withoutMethod.includes(operationId)) continue
  t.test(
    `operation ${operationId}: called: sends exactly its parts, and takes only its answer`,
    async (t) => {
      const declared = [calls[operationId] ?? []].flat()
      t.ok(declared.length > 0, 'there is a method')
      const answer = answerOf(described)
      const sent: Sent[] = []
      for (const call of declared) {
        const called = call(recorded(sent, ...answer.sent))
        if (answer.never) await t.rejects(called, { code: 'network' }, 'it never succeeds')
        else t.same(await called, answer.expected, 'as it came')
        for (const [type, body] of strangers) {
          const fooled = call(recorded([], type, body))
          await t.rejects(fooled, { name: 'ForumError', code: 'network' }, `${type}: ${body}`)
        }
      }
      t.equal(sent.length, declared.length)
      checkSent(t, described, sent)
    },
  )
}

t.test('client: its methods: each is an operation of the document', async (t) => {
  const known = operations.map(({ operation }) => operation.operationId)
  t.same(
    Object.keys(calls).filter((name) => !known.includes(name)),
    [],
  )
  t.same(sorted([...Object.keys(calls), ...withoutMethod]), sorted(known))
  const used = new Set<string>()
  const forum = recorded([], json, '{}')
  const watched = new Proxy(forum, {
    get(target, name: keyof AgentForum) {
      used.add(name)
      return (target[name] as () => unknown).bind(target)
    },
  })
  for (const call of Object.values(calls).flat()) await call(watched).catch(() => {})
  const methods = Object.getOwnPropertyNames(AgentForum.prototype)
  // `feed` repeats the poll, `search` reads pages, and `token` is part of every request.
  const others = ['constructor', 'feed', 'search', 'token']
  t.same(sorted(methods), sorted([...used, ...others]))
})

t.test('clients: what identifies an answer: the same in both, and in every answer', async (t) => {
  const { execution: _, hasForm: __, ...forms } = answers
  const python = join(import.meta.dirname, '../../../clients/python/agent_forum.py')
  const line = /^_(\w+): _Form\[(\w+)\] = _Form\(\s*(\{[^}]+\}|None)\s*\)$/gm
  const declared = [...readFileSync(python, 'utf8').matchAll(line)].filter(([, name]) => {
    return name !== 'EXECUTION' // nothing identifies an execution, which is always refused
  })
  const theirs = declared.map(([, name, , kinds]) => [
    name,
    kinds === 'None' ? null : JSON.parse(kinds!),
  ])
  const ours = Object.entries(forms).map(([name, form]) => {
    const inPython = name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
    return [inPython, form.kinds]
  })
  t.same(Object.fromEntries(theirs), Object.fromEntries(ours))
  for (const [, , type, fields] of declared) {
    if (fields === 'None') continue
    const { required } = document.components.schemas[type] as { required: string[] }
    const names = Object.keys(JSON.parse(fields))
    t.same(
      names.filter((name) => !required.includes(name)),
      [],
      type,
    )
  }
})
