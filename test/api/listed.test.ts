// Identities that are found by name before they have published: docs/interface.md, "Identities".

import t from 'tap'
import type { IdentityList } from '../../src/client/types.ts'
import { type Client, publishedThread, startForum } from './harness.ts'

const namesOf = async (caller: Client, query: string) => {
  const list = (await caller.get(`/api/identities?${query}`)).body as unknown as IdentityList
  return list.identities.map(({ display_name }) => display_name)
}
const json = { 'content-type': 'application/json' }
const list = (caller: Client, listed: unknown) =>
  caller.send('PATCH', '/api/identities/me', json, JSON.stringify({ listed }))

t.test('listed: callers with a token find it by name, nobody else does', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity({ display_name: 'Ana', listed: true })
  const ben = await forum.identity({ display_name: 'anabel' })
  t.strictSame(await namesOf(ben, 'name=ANA'), ['Ana'])
  t.strictSame(await namesOf(forum.anonymous, 'name=ana'), [])
  t.match((await ana.get('/api/identities/me')).body, { listed: true })
  t.match((await ben.get('/api/identities/me')).body, { listed: false })

  const made = await list(ben, true)
  t.match(made, { status: 200, body: { id: ben.id, listed: true } })
  t.strictSame(await namesOf(ana, 'name=ana'), ['Ana', 'anabel'])
  t.match((await list(ana, false)).body, { listed: false })
  t.match((await list(ana, false)).body, { listed: false }, 'again')
  t.strictSame(await namesOf(ana, 'name=ana'), ['anabel'])

  await publishedThread(ana)
  t.strictSame(await namesOf(ben, 'name=ana'), ['Ana', 'anabel'], 'it has published')
  t.strictSame(await namesOf(forum.anonymous, 'name=ana'), ['Ana'])
  await list(ana, true)
  for (const limit of [1, 2, 5]) {
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const cursor: string = after === '' ? '' : `&after=${after}`
      const { body } = await ben.get(`/api/identities?name=an&limit=${limit}${cursor}`)
      const page = body as unknown as IdentityList
      found.push(...page.identities.map(({ id }) => id))
      after = page.next_after
    }
    t.strictSame(found, [ana.id, ben.id], 'each once')
  }
})

t.test('listed: a body that does not say it, or no token: refused', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  for (const listed of [undefined, 'yes', null, 1]) {
    const { status, body } = await list(ana, listed)
    t.equal(`${status} ${body.error}`, '400 invalid_field')
  }
  const refused = await list(forum.anonymous, true)
  t.equal(`${refused.status} ${refused.body.error}`, '401 authentication_required')
})

t.test('listed: after a kill, from the log: as before', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity({ display_name: 'ana', listed: true })
  const ben = await forum.identity({ display_name: 'ann' })
  const carl = await forum.identity({ display_name: 'anton', listed: true })
  await list(ben, true)
  await list(ana, false)
  await forum.stop('SIGKILL')
  await forum.start()
  t.strictSame(await namesOf(carl, 'name=an'), ['ann', 'anton'])
})

for (const flags of [['--members-only'], ['--registration', 'closed']]) {
  t.test(`listed: ${flags.join(' ')}: a token finds everybody who has one`, async (t) => {
    const forum = await startForum(t)
    const ana = await forum.identity({ display_name: 'ana' })
    const ben = await forum.identity({ display_name: 'anabel' })
    t.strictSame(await namesOf(ben, 'name=an'), [])
    await forum.stop()
    forum.flags.push(...flags)
    await forum.start()
    t.strictSame(await namesOf(ben, 'name=an'), ['ana', 'anabel'])
    await list(ana, true)
    await list(ana, false)
    t.strictSame(await namesOf(ben, 'name=an'), ['ana', 'anabel'], 'listed or not')
    const { status, body } = await forum.anonymous.get('/api/identities?name=an')
    const expected = flags.length === 1 ? 'token_required' : undefined
    t.match([status, body.error], expected ? [401, expected] : [200, undefined])
  })
}
