// `agent-forum admin`: its arguments and its output. test/faults/moderation.test.ts tests its
// effect on a node, and test/operators/admin/socket.test.ts how it reaches one.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { Client, startForum } from '../api/harness.ts'
import { dataDirectory, program, run } from '../api/process.ts'

const thread = `thr_${'0'.repeat(32)}`

const unusable: [args: string[], sentence: RegExp][] = [
  [['lok-thread', thread], /no command "admin lok-thread" \(did you mean admin lock-thread\?\)/],
  [['lock-thread'], /lock-thread needs an id: thr_ and 32 hex digits/],
  [
    ['lock-thread', 'thr_1'],
    /takes thr_ and 32 hex digits, or the address of its page, not "thr_1"/,
  ],
  [['remove-message', thread], /remove-message takes msg_/],
  [['block-identity', thread], /block-identity takes agt_/],
  [['lock-thread', thread, thread], /takes one id/],
  [['list', thread], /takes no id/],
  [['list', '--reason', 'x'], /admin list takes no --reason/],
  [['lock-thread', thread, '--no-wait'], /admin lock-thread takes no --no-wait/],
  [['lock-thread', thread, '--yes'], /admin lock-thread takes no --yes/],
  [['lock-thread', thread, '--reason', 'a\nb'], /in one line/],
  [['lock-thread', thread, '--reason', 'a\u202eb'], /without control characters/],
  [['lock-thread', thread, '--reason', 'é'.repeat(501)], /at most 500 characters/],
  [['invite', '--uses', '0'], /admin invite takes --uses from 1 to 10000/],
  [['invite', '--uses', '1e3'], /takes --uses/],
  [['invite', '--days', '366'], /admin invite takes --days from 1 to 365/],
  [['invite', '--name', 'x'], /admin invite takes no --name/],
  [['revoke-invite', 'ivt_1'], /takes the id of an invitation, ivt_…, or its code, inv_…/],
  [['register'], /admin register takes --name, of 1 to 80 characters/],
  [['register', '--name', ' '], /takes --name/],
  [['register', '--name', 'a\u202eb'], /takes --name/],
  [['register', '--name', 'a', '--kind', 'compat'], /takes --kind persistent or guest/],
  [['rotate-token', thread], /rotate-token takes the id of an identity/],
  [['lock-thread', thread, '--raeson', 'x'], /unknown flag --raeson \(did you mean --reason\?\)/],
]

t.test('admin: arguments that cannot be used: exit 64, and what is wrong', async (t) => {
  const data = dataDirectory(t)
  const all = unusable.map(([args]) => run(['admin', ...args, '--data', data]))
  for (const [i, { code, stdout, stderr }] of (await Promise.all(all)).entries()) {
    const [args, sentence] = unusable[i]!
    t.same([code, stdout], [64, ''], args.join(' '))
    t.match(stderr, sentence)
  }
})

/** Runs it in a terminal in which this is typed. */
async function inTerminal(typed: string, args: readonly string[]) {
  const command = [process.execPath, program, ...args].map((part) => `'${part}'`).join(' ')
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'])
  terminal.stdin.end(typed)
  let shown = ''
  terminal.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  const [code] = await once(terminal, 'close')
  return { code, shown }
}

t.test('admin: what cannot be undone: asks in a terminal; elsewhere needs --yes', async (t) => {
  const data = ['--data', dataDirectory(t)]
  const finals = [
    ['remove-message', `msg_${'0'.repeat(32)}`, 'This erases the text of message msg_'],
    ['revoke-invite', `ivt_${'0'.repeat(32)}`, 'This revokes the invitation ivt_'],
    ['rotate-token', `agt_${'0'.repeat(32)}`, 'This ends the present token of agt_'],
  ] as const
  for (const [command, id, question] of finals) {
    const args = ['admin', command, id, ...data]
    const script = await run(args)
    t.match(script, { code: 64, stdout: '', stderr: `admin ${command} cannot be undone` })
    t.match(script.stderr, /add --yes, or run it in a terminal\n$/)
    for (const typed of ['n\n', '\n', '\u0004']) {
      const { code, shown } = await inTerminal(typed, args)
      t.equal(code, 64, shown)
      t.match(shown, question)
      t.match(shown, /Go on\? \[y\/N\] [\s\S]*agent-forum: nothing was done/)
    }
    // Whoever is sure learns that no node answers.
    t.match(await inTerminal('y\n', args), { code: 69, shown: question })
    t.match(await run([...args, '--yes']), { code: 69, stderr: /no node answers/ })
  }
})

t.test('admin: no node: exit 69 and one sentence', async (t) => {
  const { code, stdout, stderr } = await run(['admin', 'list', '--data', dataDirectory(t)])
  t.same([code, stdout], [69, ''])
  t.match(stderr, /^agent-forum: no node answers on .*admin\.sock: there is no socket.*\n$/)
})

t.test('admin: what it says of each command, in words and as JSON', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const { thread_id, message_id } = (await ana.thread()).body
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['admin', ...args, '--data', forum.data])
    t.same([code, stderr], [0, ''], args.join(' '))
    return stdout
  }
  t.equal(await admin('list'), 'nothing is locked, removed or blocked\n')
  t.equal(await admin('lock-thread', thread_id, '--reason', 'spam'), `${thread_id} is locked\n`)
  const since = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
  const again = new RegExp(`^${thread_id} is locked already, since ${since} \\(spam\\)\\n$`)
  t.match(await admin('lock-thread', thread_id), again)
  const unlocked = JSON.parse(await admin('unlock-thread', thread_id, '--json'))
  t.same(unlocked, { id: thread_id, is_new: true, act: null })
  const other = await admin('unlock-thread', thread_id)
  t.equal(other, `${thread_id} is unlocked already\n`)
  const removed = JSON.parse(
    await admin('remove-message', '--yes', message_id, '--no-wait', '--json'),
  )
  t.match(removed, { id: message_id, is_new: true, act: { kind: 'removed' }, is_gone: false })
  const gone = await admin('remove-message', '--yes', message_id)
  const left =
    /\nits text has left the page files, the log and the search index of .*, and the state, caches/
  t.match(gone, left)
  t.match(gone, /removed already.*\n.*\nfree memory .* may still have it until .*; backups/)
  t.match(await admin('list'), new RegExp(`^${since}  removed  ${message_id}\\n$`))
})

t.test('admin: what a page shows: the thread, the message and the identity of it', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const first = (await ana.thread()).body
  const second = (await ana.thread()).body
  const { message_id } = (await ana.reply(second.thread_id)).body
  const { messages } = (await ana.get(`/api/threads/${second.thread_id}?after=0`)).body
  const { seq, id: found } = messages!.at(-1)!
  t.equal(found, message_id)
  const admin = (...args: string[]) => run(['admin', ...args, '--data', forum.data])
  const page = `${forum.url}/t/${second.thread_id}`
  const permalink = (thread: string, seq: number) => `/t/${thread}?after=${seq - 1}#m${seq}`

  t.match(await admin('lock-thread', page), { code: 0, stdout: `${second.thread_id} is locked\n` })
  const unlocked = await admin(
    'unlock-thread',
    `https://forum.example${permalink(second.thread_id, 1)}`,
  )
  t.match(unlocked, { code: 0, stdout: `${second.thread_id} is unlocked\n` })
  const blocked = await admin('block-identity', `${forum.url}/agents/${ana.id}`)
  t.match(blocked, { code: 0, stdout: `${ana.id} is blocked\n` })

  t.match(await admin('remove-message', page), { code: 64, stderr: /its permalink/ })
  const elsewhere = await admin('remove-message', '--yes', permalink(first.thread_id, seq))
  const sentence = `message #${seq} is in ${second.thread_id}, not in ${first.thread_id}`
  t.match(elsewhere, { code: 65, stderr: sentence })
  for (const number of ['1', `${seq + 1}`]) {
    const absent = await admin('remove-message', '--yes', number)
    t.match(absent, { code: 65, stderr: `there is no message #${number}` })
  }
  t.equal((await admin('list')).stdout.includes('removed'), false)
  const removed = await admin(
    'remove-message',
    '--yes',
    permalink(second.thread_id, seq),
    '--no-wait',
  )
  const which = `${message_id} (#${seq} in ${second.thread_id}, by ${ana.id}, of 2`
  t.equal(removed.code, 0)
  t.ok(removed.stdout.startsWith(which), removed.stdout)
  for (const number of [`${seq}`, `#${seq}`]) {
    const again = await admin('remove-message', '--yes', number, '--no-wait')
    t.match([again.code, again.stdout], [0, /is removed already/])
  }
})

t.test(
  'admin: who may come in: secrets alone on standard output, and the rest beside',
  async (t) => {
    const forum = await startForum(t, ['--registration', 'invited'])
    const admin = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(['admin', ...args, '--data', forum.data])
      t.equal(code, 0, `${args.join(' ')}: ${stderr}`)
      return [stdout.trim(), stderr.trim()] as const
    }
    const post = async (body: object) => {
      const answer = await forum.anonymous.post('/api/identities', body)
      return [answer.status, answer.body.error ?? answer.body.token]
    }
    const who = async (token: string) =>
      (await new Client(forum, token).get('/api/identities/me')).status
    t.same(await admin('list-invites'), ['there is no invitation', ''])
    const [code, about] = await admin(
      'invite',
      '--uses',
      '2',
      '--days',
      '14',
      '--reason',
      'the team',
    )
    t.match(code, /^inv_[0-9a-f]{64}$/)
    t.match(about, /^ivt_[0-9a-f]{32} creates 2 identities until 20.*; its code is shown once$/)
    t.same(await post({}), [403, 'invite_required'])
    t.equal((await post({ invite: code }))[0], 201)
    const id = about.split(' ')[0]!
    const line = new RegExp(`^${id}  open     1 of 2    until 20\\S+  the team$`)
    t.match((await admin('list-invites'))[0], line)
    t.same(await admin('revoke-invite', '--yes', code), ['', `${id} is revoked`])
    const late = `${id} was unusable already: it is revoked`
    t.same(await admin('revoke-invite', '--yes', id), ['', late])
    t.same(await post({ invite: code }), [403, 'invalid_invite'])
    const { invites } = JSON.parse((await admin('list-invites', '--json'))[0])
    t.match(invites, [{ id, state: 'revoked', uses: 2, used: 1, reason: 'the team' }])
    t.notOk(JSON.stringify(invites).includes(code))

    const [token, registered] = await admin('register', '--name', 'ana')
    t.match(registered, /^agt_\S+ ana \(persistent\) is registered; its token is shown once$/)
    t.equal(await who(token), 200)
    const agent = registered.split(' ')[0]!
    const [next] = await admin(
      'rotate-token',
      '--yes',
      `${forum.url}/agents/${agent}`,
      '--reason',
      'lost',
    )
    t.same([await who(token), await who(next)], [401, 200])
    const nobody = await run([
      'admin',
      'rotate-token',
      '--yes',
      `agt_${'0'.repeat(32)}`,
      '--data',
      forum.data,
    ])
    t.match(nobody, { code: 65, stdout: '', stderr: /there is no such identity/ })
  },
)
