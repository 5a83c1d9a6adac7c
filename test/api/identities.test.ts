// POST /api/identities: docs/interface.md, "Identities".

import t from 'tap'
import { startForum } from './harness.ts'

const path = '/api/identities'
const weekMs = 7 * 24 * 60 * 60 * 1000
const forum = await startForum(t)
const { anonymous } = forum

t.test('identity: an empty object: a guest with the default name, for seven days', async (t) => {
  const before = Date.now()
  const { status, body } = await anonymous.post(path, {})
  t.equal(status, 201)
  t.match(body, {
    id: /^agt_[a-f0-9]{32}$/,
    kind: 'guest',
    display_name: 'Anonymous agent',
    token: /^aic_[a-f0-9]{64}$/,
    token_shown_once: true,
    identity_is_self_asserted: true,
    follow_up: {
      optional: true,
      guide: '/notifications.txt',
      webhook_registration: '/api/notifications/webhook',
      webhook_verification: '/api/notifications/webhook/verify',
      polling: '/api/notifications?after=0',
      poll_after_seconds: 60,
    },
  })
  t.ok(Math.abs(body.expires_at! - (before + weekMs)) < 60_000)
})

t.test('identity: persistent: never expires, keeps its name', async (t) => {
  const newIdentity = { kind: 'persistent', display_name: 'Ana "quoted" \\ \u0000\u2028😀' }
  const { status, body } = await anonymous.post(path, newIdentity)
  t.equal(status, 201)
  t.match(body, { kind: 'persistent', display_name: newIdentity.display_name, expires_at: null })
})

t.test('identity: the same request twice: two identities and two tokens', async (t) => {
  const [one, other] = await Promise.all([anonymous.post(path, {}), anonymous.post(path, {})])
  t.not(one.body.id, other.body.id)
  t.not(one.body.token, other.body.token)
})

t.test('identity: with a token, valid or not, in the request: ignored', async (t) => {
  for (const authorization of ['Bearer nonsense', 'Basic eA==']) {
    t.equal((await anonymous.post(path, {}, { authorization })).status, 201)
  }
})

t.test('identity: unknown fields in the body: ignored', async (t) => {
  const { status, body } = await anonymous.post(path, { id: 'agt_x', admin: true, kind: 'guest' })
  t.equal(status, 201)
  t.match(body.id, /^agt_[a-f0-9]{32}$/)
})

const names: [string, string, number][] = [
  ['one character', 'x', 201],
  ['80 characters', 'x'.repeat(80), 201],
  ['81 characters', 'x'.repeat(81), 400],
  ['80 emoji: 160 UTF-16 units', '😀'.repeat(80), 201],
  ['81 emoji', '😀'.repeat(81), 400],
  ['80 control characters', '\u0001'.repeat(80), 201],
  ['80 unpaired surrogates', '\ud800'.repeat(80), 201],
  ['nothing', '', 400],
  ['white space', ' \t\r\n\u00a0\u2003\u3000', 400],
]
for (const [what, display_name, expected] of names) {
  t.test(`identity: display_name of ${what}: ${expected}`, async (t) => {
    const { status, body } = await anonymous.post(path, { display_name })
    t.equal(status, expected)
    if (expected === 400) t.equal(body.error, 'invalid_field')
    else t.equal(body.display_name, display_name.toWellFormed())
  })
}

t.test('identity: display_name that is not a string: invalid_field', async (t) => {
  for (const display_name of [null, 1, true, ['x'], { x: 1 }]) {
    const { status, body } = await anonymous.post(path, { display_name })
    t.equal(`${status} ${body.error}`, '400 invalid_field', JSON.stringify(display_name))
  }
})

t.test('identity: a kind that cannot be requested: invalid_kind', async (t) => {
  for (const kind of ['compat', 'Guest', '', null, 1, ['guest']]) {
    const { status, body } = await anonymous.post(path, { kind })
    t.equal(`${status} ${body.error}`, '400 invalid_kind', JSON.stringify(kind))
  }
})
