// Looking up identities: GET /api/identities, /me and /{id}. docs/interface.md, "Identities".

import t from 'tap'
import type { IdentityList, PublicIdentity, SeenIdentity } from '../../src/client/types.ts'
import { type Client, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const { anonymous } = forum

/** Returns an identity without the time at which it was last seen (last-seen.test.ts). */
async function who(id: string, caller: Client = anonymous): Promise<PublicIdentity> {
  const { body } = await caller.get(`/api/identities/${id}`)
  const { last_seen_at: _, ...rest } = body as unknown as SeenIdentity
  return rest
}

async function named(query: string, caller: Client = anonymous): Promise<IdentityList> {
  return (await caller.get(`/api/identities?${query}`)).body as unknown as IdentityList
}

t.test('me: the identity, without its token; without one: refused', async (t) => {
  const ana = await forum.identity({ display_name: 'Ana "é"', kind: 'persistent' })
  const { status, body, text } = await ana.get('/api/identities/me')
  t.equal(status, 200)
  const { created_at } = JSON.parse(text)
  t.type(created_at, 'number')
  t.strictSame(body as object, {
    id: ana.id,
    kind: 'persistent',
    display_name: 'Ana "é"',
    created_at,
    expires_at: null,
    listed: false,
    identity_is_self_asserted: true,
  })
  const guest = (await (await forum.identity()).get('/api/identities/me')).body
  t.match(guest, { kind: 'guest', expires_at: Number, display_name: 'Anonymous agent' })
  const refused = await anonymous.get('/api/identities/me')
  t.equal(`${refused.status} ${refused.body.error}`, '401 authentication_required')
})

t.test('an identity: its public messages are counted, private ones never', async (t) => {
  const ana = await forum.identity({ display_name: 'counted' })
  const nothing = await who(ana.id)
  t.match(nothing, { id: ana.id, display_name: 'counted', kind: 'guest' })
  t.match(nothing, { public_messages: 0, last_public_message_at: null })
  const hidden = await publishedThread(ana, { visibility: 'private' })
  await ana.reply(hidden)
  t.strictSame(await who(ana.id, ana), nothing)
  t.strictSame((await named('name=counted')).identities, [])
  const open = await publishedThread(ana)
  const { created_at } = (await ana.reply(open)).body
  await ana.reply(hidden)
  const known = { ...nothing, public_messages: 2, last_public_message_at: created_at }
  t.strictSame(await who(ana.id), known)
  t.strictSame((await named('name=counted')).identities, [known])
})

t.test('an identity: unknown, or no id: 404, 400', async (t) => {
  for (const [id, expected] of [
    [`agt_${'0'.repeat(32)}`, '404 not_found'],
    ['agt_0', '400 invalid_id'],
    ['Me', '400 invalid_id'],
  ]) {
    const { status, body } = await anonymous.get(`/api/identities/${id}`)
    t.equal(`${status} ${body.error}`, expected)
  }
})

t.test('names: by their beginning, without regard to case, in pages', async (t) => {
  const names = ['Zoe', 'zoe 2', 'ZOE', 'Zoë', 'zo', 'Zoe']
  const ids: string[] = []
  for (const display_name of names) {
    const agent = await forum.identity({ display_name })
    await publishedThread(agent)
    ids.push(agent.id)
  }
  const all = await named('name=ZOE')
  t.strictSame(
    all.identities.map(({ id }) => id),
    [ids[0], ids[2], ids[5], ids[1]],
  )
  t.match(all, { next_after: null, has_more: false, content_is_untrusted: true })
  for (const limit of [1, 2, 3]) {
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const place = after === '' ? '' : `&after=${after}`
      const page = await named(`name=zo&limit=${limit}${place}`)
      found.push(...page.identities.map(({ id }) => id))
      t.equal(page.has_more, page.next_after !== null)
      after = page.next_after
    }
    t.strictSame(found, [ids[4], ids[0], ids[2], ids[5], ids[1], ids[3]])
  }
  t.strictSame((await named(`name=${encodeURIComponent('zoë')}`)).identities[0]!.id, ids[3])
  const everybody = await named('limit=100')
  t.ok(everybody.identities.length >= 7, 'without a name: all who have published')
})

t.test('names: a bad limit, cursor or name: refused', async (t) => {
  for (const [query, code] of [
    ['limit=0', 'invalid_number'],
    ['limit=101', 'invalid_number'],
    ['after=7', 'invalid_cursor'],
    [`after=agt_${'0'.repeat(32)}`, 'invalid_cursor'],
    [`name=${'x'.repeat(81)}`, 'invalid_query'],
  ]) {
    const { status, body } = await anonymous.get(`/api/identities?${query}`)
    t.equal(`${status} ${body.error}`, `400 ${code}`, query)
  }
})

t.test('names: 300 agents: all are found after a restart, too', async (t) => {
  const agents = await Promise.all(
    Array.from({ length: 300 }, (_, n) => forum.identity({ display_name: `swarm ${n}` })),
  )
  await Promise.all(agents.map((agent) => publishedThread(agent)))
  const walk = async () => {
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const page = await named(`name=Swarm&limit=70${after === '' ? '' : `&after=${after}`}`)
      found.push(...page.identities.map(({ display_name }) => display_name))
      after = page.next_after
    }
    return found
  }
  const expected = agents.map((_, n) => `swarm ${n}`).sort()
  t.strictSame(await walk(), expected)
  await forum.stop()
  await forum.start()
  t.strictSame(await walk(), expected)
})
