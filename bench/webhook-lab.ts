// Question:   is every webhook woken for every message of its feed, and for nothing else?
// Compares:   an undisturbed server with one that gets SIGKILL when half of the replies are sent.
// Fixed:      200 identities with verified webhooks at one HTTPS receiver, each following 4 of 20
//             threads; 10,000 replies by them and by others, over 64 connections; callers retry
//             with the same key.
// Reports:    replies/s while waking, the number of wakeups, how many ids came twice, the time from
//             the last reply to the last wakeup. Fails unless each message that an identity's feed
//             shows lies in the range of a wakeup that its receiver got, every range begins and
//             ends with a message by another identity, each receipt says delivered and its id was
//             received, and the owner's secret signed everything.
// Leaves out: receivers that fail (test/forum/deliveries.test.ts) or are silent (black-hole.ts).
// Smoke:      20 identities, 300 replies.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Agent as HttpAgent, request } from 'undici'
import { Program } from '../test/api/process.ts'
import { makeCertificates, type Received, Receiver } from '../test/delivery/receiver.ts'

const isSmoke = process.argv.includes('--smoke')
const ownerCount = isSmoke ? 20 : 200
const replyCount = isSmoke ? 300 : 10_000
const writerCount = 20
const threadCount = 20
const followedEach = 4
const connections = 64
const quietMs = 1_000

interface Identity {
  token: string
  threads: string[]
}
interface Owner extends Identity {
  number: number
  secret: string
  /** Wakeups announce messages after this one. */
  from: number
}
interface Delivery {
  id: string
  state: string
  message_seq: number
}

const certificates = makeCertificates()
const http = new HttpAgent({ connections })
let url = ''

/** Retries until there is an answer, because the server may be killed and restarted meanwhile. */
async function send<T>(method: 'GET' | 'POST', path: string, token = '', body?: object, key = '') {
  const headers: Record<string, string> = {}
  if (token !== '') headers.authorization = `Bearer ${token}`
  if (key !== '') headers['idempotency-key'] = key
  if (body !== undefined) headers['content-type'] = 'application/json'
  const text = body === undefined ? null : JSON.stringify(body)
  for (;;) {
    try {
      const answer = await request(url + path, { method, headers, body: text, dispatcher: http })
      const json = (await answer.body.json()) as T
      if (answer.statusCode < 300) return json
      assert.equal(answer.statusCode, 503, `${path}: ${JSON.stringify(json)}`)
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    }
    await sleep(50)
  }
}

/** Runs `work` for 0 … count - 1, one at a time on each connection. */
async function each(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: connections }, lane))
}

async function newIdentity(threads: string[]): Promise<Identity> {
  const { token } = await send<{ token: string }>('POST', '/api/identities', '', {})
  return { token, threads }
}

async function prepare(receiver: Receiver): Promise<{ owners: Owner[]; writers: Identity[] }> {
  const founder = await newIdentity([])
  const threads: string[] = []
  for (let n = 0; n < threadCount; n++) {
    const body = { title: `thread ${n}`, content: 'first' }
    const { thread_id } = await send<{ thread_id: string }>(
      ...(['POST', '/api/threads', founder.token, body, `thread-${n}-000`] as const),
    )
    threads.push(thread_id)
  }
  const owners: Owner[] = []
  await each(ownerCount, async (number) => {
    const own = Array.from({ length: followedEach }, (_, i) => threads[(number + i * 7) % 20])
    const { token } = await newIdentity(own)
    for (const thread of own) await send('POST', `/api/threads/${thread}/subscribe`, token)
    // Two names for the receiver, so that two lanes of the schedule are in use.
    const host = number % 2 === 0 ? 'localhost' : '127.0.0.1'
    const body = { url: `https://${host}:${receiver.port}/${number}` }
    const path = '/api/notifications/webhook'
    const { signing_secret: secret } = await send<{ signing_secret: string }>(
      ...(['POST', path, token, body, `webhook-${number}`] as const),
    )
    const { verified } = await send<{ verified: boolean }>('POST', `${path}/verify`, token)
    assert.ok(verified, 'the receiver echoes')
    const [last] = (await feed(token, 0)).slice(-1)
    owners[number] = { number, token, secret, threads: own, from: last ?? 0 }
  })
  const writers = await Promise.all(Array.from({ length: writerCount }, () => newIdentity(threads)))
  return { owners, writers }
}

/** Returns the seqs that an identity's feed shows after a cursor. */
async function feed(token: string, after: number): Promise<number[]> {
  const seqs: number[] = []
  for (let cursor = after; ; ) {
    const page = await send<{
      notifications: { seq: number }[]
      next_after: number
      has_more: boolean
    }>('GET', `/api/notifications?after=${cursor}&limit=100`, token)
    seqs.push(...page.notifications.map(({ seq }) => seq))
    if (!page.has_more) return seqs
    cursor = page.next_after
  }
}

async function deliveries(token: string): Promise<Delivery[]> {
  const all: Delivery[] = []
  for (let cursor = 0; ; ) {
    const page = await send<{ deliveries: Delivery[]; next_after: number; has_more: boolean }>(
      'GET',
      `/api/notifications/deliveries?after=${cursor}&limit=100`,
      token,
    )
    all.push(...page.deliveries)
    if (!page.has_more) return all
    cursor = page.next_after
  }
}

/** Resolves when nothing has been received for a while, to the time of the last wakeup. */
async function quiet(receiver: Receiver): Promise<number> {
  let count = -1
  let lastAt = performance.now()
  while (receiver.received.length !== count || performance.now() - lastAt < quietMs) {
    if (receiver.received.length !== count) lastAt = performance.now()
    count = receiver.received.length
    await sleep(20)
  }
  return lastAt
}

/** Compares an owner's wakeups with its feed and its receipts. Returns how many ids came twice. */
async function check(owner: Owner, received: readonly Received[]): Promise<number> {
  const wakeups = received.map(({ text, headers }) => {
    new Webhook(owner.secret).verify(text, headers as Record<string, string>)
    return JSON.parse(text) as { event_id: string; after: number; through: number }
  })
  const seqs = await feed(owner.token, owner.from)
  const shown = new Set(seqs)
  for (const { after, through } of wakeups) {
    assert.ok(shown.has(after + 1) && shown.has(through), `${owner.number} was woken by itself`)
  }
  for (const seq of seqs) {
    const isAnnounced = wakeups.some(({ after, through }) => after < seq && seq <= through)
    assert.ok(isAnnounced, `${owner.number} was never woken for ${seq}`)
  }
  const ids = new Set(wakeups.map(({ event_id }) => event_id))
  for (const { id, state } of await deliveries(owner.token)) {
    assert.equal(state, 'delivered', `${owner.number}'s receipt ${id}`)
    assert.ok(ids.has(id), `${owner.number} never got ${id}`)
  }
  return wakeups.length - ids.size
}

async function round(kills: boolean): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-lab-'))
  const receiver = new Receiver(certificates)
  await receiver.listen()
  const flags = ['--webhook-allow-private', '--webhook-ca', certificates.caFile]
  const start = async () => {
    const program = new Program(['serve', '--port', '0', '--data', join(dir, 'data'), ...flags])
    url = (await program.logged('started')).url!
    return program
  }
  let server = await start()
  const { owners, writers } = await prepare(receiver)
  receiver.received.length = 0

  const authors = [...owners, ...writers]
  let restarted = Promise.resolve()
  const begun = performance.now()
  await each(replyCount, async (n) => {
    if (kills && n === replyCount / 2) {
      restarted = server.stop('SIGKILL').then(async () => {
        server = await start()
      })
    }
    const { token, threads } = authors[(n * 13) % authors.length]
    const path = `/api/threads/${threads[(n * 31) % threads.length]}/replies`
    await send('POST', path, token, { content: `reply ${n}` }, `reply-${n}-0000`)
  })
  const published = performance.now()
  await restarted
  const lastAt = await quiet(receiver)

  const byOwner = group(receiver.wakeups)
  let doubled = 0
  for (const owner of owners) {
    doubled += await check(owner, byOwner.get(`/${owner.number}`) ?? [])
  }
  const rate = Math.round(replyCount / ((published - begun) / 1000))
  console.log(
    `${kills ? 'SIGKILL in the middle' : 'undisturbed'}: ${replyCount} replies at ` +
      `${rate.toLocaleString('en')}/s, ${owners.length} webhooks, ` +
      `${receiver.wakeups.length} wakeups, ${doubled} ids twice, last wakeup ` +
      `${Math.max(0, Math.round(lastAt - published))} ms after the last reply; ` +
      'everyone woken, nobody by itself, every receipt right',
  )
  await server.stop('SIGTERM')
  await receiver.close()
  rmSync(dir, { recursive: true })
}

function group(wakeups: readonly Received[]): Map<string, Received[]> {
  const groups = new Map<string, Received[]>()
  for (const wakeup of wakeups) {
    const known = groups.get(wakeup.path)
    if (known === undefined) groups.set(wakeup.path, [wakeup])
    else known.push(wakeup)
  }
  return groups
}

await round(false)
await round(true)
await http.destroy()
certificates.remove()
