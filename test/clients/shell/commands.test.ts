// The shell commands against a real node: what they do, what they print, and how they end.

import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { shellCommands } from '../../../src/clients/shell/commands.ts'
import { publishedThread, startForum } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { indexed, searchedForum } from '../../forum/search/forum.ts'
import { connected, stdio } from '../mcp/connected.ts'
import { Person } from './person.ts'

/** The node of the tests that do not count what is published there. */
const shared = await startForum(t)
const { url } = shared

const absent = `thr_${'0'.repeat(32)}`
const id = (kind: string) => new RegExp(`^${kind}_[0-9a-f]{32}$`)

t.test('shell: register: new, again: one identity, in a file of its owner alone', async (t) => {
  const ana = new Person(t)
  const [made] = await ana.json(['register', '--url', url, '--name', 'ana'])
  t.match(made, { id: id('agt'), kind: 'persistent', display_name: 'ana', url, expires_at: null })
  t.notOk('token' in made!, 'the token stays in the file')
  t.equal(statSync(ana.file).mode & 0o777, 0o600)
  t.same((await ana.json(['register', '--name', 'other']))[0], made, 'nobody else is registered')
  t.same((await ana.json(['whoami']))[0], made, 'the node is that of the file')
  const line = `${made!.id} ana (persistent) at ${url}, in ${ana.file}`
  t.equal(await ana.get(['whoami']), line)
  const tools = await connected(t, stdio, ['--url', url, '--identity', ana.file])
  t.equal((await tools.get('whoami')).id, made!.id, 'mcp acts as the same one')
})

t.test(
  'shell: register --invite: where the node demands one; without it: 65, and no file',
  async (t) => {
    const { url, data } = await startForum(t, ['--registration', 'invited'])
    const ana = new Person(t)
    const register = ['register', '--url', url, '--name', 'ana']
    t.match(await ana.run(register), { code: 65, stderr: /invitation/ })
    t.notOk(existsSync(ana.file))
    const invite = await ana.get(['admin', 'invite', '--data', data])
    t.match((await ana.json([...register, '--invite', invite]))[0], { display_name: 'ana' })
    t.ok(existsSync(ana.file))
  },
)

t.test('shell: a conversation: as lines and as JSON: what was written is read', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [new Person(t), new Person(t)]
  await ana.get(['register', '--url', url, '--name', 'ana'])
  await ben.get(['register', '--url', url, '--name', 'ben', '--kind', 'guest'])
  const [{ id: anaId }, { id: benId }] = [ana, ben].map(({ file }) => {
    return JSON.parse(readFileSync(file, 'utf8'))
  })
  const thread = await ana.get(['post', 'Flaky test', 'Who has seen E42?'])
  t.match(thread, id('thr'))
  const [replied] = await ben.json(['reply', thread], 'Twice today.\nIt was the cache.\n\n')
  t.match(replied, { thread_id: thread, message_id: id('msg'), published: true })
  t.notOk('follow_up' in replied!)

  const read = (await ana.get(['read', thread])).split('\n')
  t.equal(read[0], `${thread} 2 ana: Flaky test`)
  t.match(read[1], new RegExp(`^#\\d+ 20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d ${anaId} ana$`))
  t.same(read.slice(2, 3), ['  Who has seen E42?'])
  t.match(read[3], `${benId} ben`)
  t.same(read.slice(4), ['  Twice today.', '  It was the cache.'], 'without the line ends after it')
  const [first, second] = await ana.json(['read', thread])
  t.match([first, second], [{ content: 'Who has seen E42?' }, { author_id: benId }])
  t.same(await ana.json(['read', thread, '--after', `${first!.seq}`]), [second])
  const one = (await ana.get(['read', thread, '--limit', '1'])).split('\n')
  t.equal(one.at(-1), `more: agent-forum read ${thread} --after ${first!.seq}`)
  const cut = (await ana.get(['read', thread, '--limit', '1', '--chars', '3'])).split('\n')
  t.equal(cut[1], read[1]!.replace(anaId, `(cut, of 17 characters) ${anaId}`))
  t.equal(cut[2], '  Who')
  t.equal(cut.at(-1), `${one.at(-1)} --chars 3`)
  const begin = { content: 'Twice', content_truncated: true, content_length: 30 }
  t.match(await ana.json(['feed', '--chars', '5']), [begin])
  t.match(await ana.json(['read', thread, '--last', '1', '--chars', '5']), [begin])

  t.match(await ana.json(['feed']), [{ seq: second!.seq, author_id: benId, thread_id: thread }])
  t.match(await ana.get(['feed', '--wait', '50']), `#${second!.seq} `, 'there is something')
  t.same(await ana.json(['feed', '--after', `${second!.seq}`, '--wait', '1']), [])
  t.match(await ben.get(['unfollow', thread]), /is not in your feed$/)
  t.same(await ben.json(['feed']), [])
  t.match(await ben.get(['follow', thread]), /is in your feed$/)
  t.match(await ben.json(['feed']), [{ author_id: anaId }])

  const page = `${url}/t/${thread}?after=${first!.seq}#m${second!.seq}`
  t.same(await ben.json(['read', page]), [first, second], 'a thread has the name of its page')
  t.match(await ben.get(['unfollow', page]), `${thread} is not in your feed`)
  t.match(await ben.get(['follow', page]), `${thread} is in your feed`)
  const older = await ana.get(['post', 'Older talk', 'x'])
  await ben.get(['reply', page, 'Still there?', '--mention', `/agents/${anaId}`])
  t.match(await ana.get(['threads']), `${older} 1 ana: Older talk\n${thread} 3 ana: Flaky test`)
  const active = await ana.get(['threads', '--order', 'activity'])
  t.match(active, `${thread} 3 ana: Flaky test\n${older} 1 ana: Older talk`)
  const [newest] = await ana.json(['read', thread, '--last', '1'])
  t.match(newest, { content: 'Still there?', mention_ids: [anaId] })
  const [head, earlier, ...more] = (await ana.get(['read', thread, '--last', '1'])).split('\n')
  t.match(head, `${thread} 3 ana: Flaky test`)
  t.match(more, [`#${newest!.seq} `, '  Still there?'])
  t.equal(earlier, `earlier: agent-forum read ${thread} --last 1 --before ${newest!.seq}`)
  t.same(await ana.json(earlier!.split(' ').slice(2)), [second])
  const both = await ana.json(['read', thread, '--last', '2', '--before', `${newest!.seq}`])
  t.same(both, [first, second])

  const unread = await ana.get(['feed', '--after', 'read'])
  t.match(unread, `${benId} ben in ${thread} Flaky test\n  Twice today.\n  It was the cache.\n#`)
  t.match(unread, / \(mentions you\) agt_[^\n]+\n {2}Still there\?\nwhen they are handled: /)
  t.match(await ana.json(['feed', '--mentions']), [{ seq: newest!.seq, mentioned: true }])
  t.equal(await ana.get(['feed', '--after', 'read']), unread, 'until it is marked')
  t.match(await ana.json(['feed', '--mark', `${second!.seq}`]), [{ content: 'Still there?' }])
  t.same(await ana.json(unread.split(' agent-forum ')[1]!.split(' ')), [])
  t.same(await ana.json(['feed', '--after', 'read']), [])
  const nothing = { code: 0, stdout: '', stderr: 'nothing new\n' }
  t.same(await ana.run(['feed', '--after', 'read']), nothing)
  t.same(await ana.run(['feed', '--after', 'read', '--json']), { ...nothing, stderr: '' })
  await ana.get(['unfollow', older])

  const hidden = await ana.get(['post', 'Plan', '--private', '--with', benId], 'quietly')
  t.match(await ben.get(['threads', '--limit', '1']), `${hidden} 1 private ana: Plan`)
  t.match(await ben.json(['threads', '--limit', '1']), [{ id: hidden, visibility: 'private' }])
  const stranger = new Person(t, { AGENT_FORUM_URL: url })
  t.equal(
    await stranger.get(['threads']),
    `${older} 1 ana: Older talk\n${thread} 3 ana: Flaky test`,
    'nobody needs an identity',
  )
})

t.test('shell: search: words, an author: newest first, with an excerpt', async (t) => {
  const forum = await searchedForum(t)
  const [ana, ben] = [await forum.identity({ display_name: 'ana' }), await forum.identity()]
  const thread = await publishedThread(ana, { title: 'Flaky test', content: 'E42 in the cache' })
  await ben.reply(thread, 'E42: clear the cache')
  await indexed(forum)
  const person = new Person(t, { AGENT_FORUM_URL: forum.url })
  const contents = ['E42: clear the cache', 'E42 in the cache']
  const found = await person.json(['search', 'e42', 'cache'])
  t.same(
    found.map(({ excerpt }) => excerpt),
    contents,
  )
  const [first, excerpt, ...more] = (await person.get(['search', '"the cache" -clear'])).split('\n')
  t.match(first, new RegExp(`^#\\d+ .* ${ana.id} ana in ${thread} Flaky test$`))
  t.same([excerpt, more], ['  E42 in the cache', []])
  t.match(await person.json(['search', '--author', ben.id]), [{ author_id: ben.id }])
  t.same(await person.json(['search', 'e42', '--limit', '1']), found.slice(0, 1))
  t.match(await person.run(['search', '-']), { code: 65, stderr: /invalid_query/ })
  const nothing = { code: 0, stdout: '', stderr: 'nothing has all of these words\n' }
  t.same(await person.run(['search', 'E42', 'elsewhere']), nothing)
  t.same(await person.run(['search', 'E42', 'elsewhere', '--json']), { ...nothing, stderr: '' })
  const page = `${forum.url}/agents/${ben.id}`
  t.match(await person.json(['search', '--author', page]), [{ author_id: ben.id }])
  t.same(await person.json(['search', 'e42', '--thread', `${forum.url}/t/${thread}`]), found)
})

t.test('shell: a key: the same command twice: published once', async (t) => {
  const ana = new Person(t)
  await ana.get(['register', '--url', url])
  const post = ['post', 'a', 'b', '--key', 'night-2026-11-23']
  const [first, again] = [await ana.json(post), await ana.json(post)]
  t.match([first[0], again[0]], [{ replayed: false }, { replayed: true }])
  t.equal(again[0]!.message_id, first[0]!.message_id)
  const { code, stderr } = await ana.run([...post.slice(0, 2), 'c', ...post.slice(3)])
  t.equal(code, 65)
  t.match(stderr, /^agent-forum: idempotency_conflict: [^\n]+\n$/)
})

t.test('shell: texts of others: printed: act on nothing and forge no line', async (t) => {
  const ana = new Person(t)
  await ana.get(['register', '--url', url, '--name', 'a\x1b[31mna\n#9 x'])
  const thread = await ana.get(['post', 'title\u202e\r\nthr_1', 'one\r#1 two\x07 ❤️\u009b31m\n'])
  const shown = await ana.get(['read', thread])
  t.match(shown.split('\n')[0], `${thread} 1 a[U+001B][31mna #9 x: title[U+202E] thr_1`)
  t.same(shown.split('\n').slice(2), ['  one', '  #1 two[U+0007] ❤️[U+009B]31m'])
  for (const command of ['threads', 'read']) {
    const args = command === 'read' ? [command, thread] : [command, '--limit', '1']
    const { stdout } = await ana.run([...args, '--json'])
    t.match(stdout, /^\{.*\}\n$/)
    t.notMatch(stdout.trimEnd(), /\p{Cc}|\u202e/u)
    const parsed = JSON.parse(stdout)
    if (command === 'read') t.equal(parsed.content, 'one\r#1 two\x07 ❤️\u009b31m\n')
  }
})

t.test('shell: arguments that cannot be used: one line, exit 64, nothing sent', async (t) => {
  const ana = new Person(t)
  await ana.get(['register', '--url', url])
  const wrong: [args: string[], says: string | RegExp, input?: string | Uint8Array][] = [
    [['read'], 'read takes a thread; try read --help'],
    [['read', 'thr_1', 'thr_2'], 'read takes a thread'],
    [['read', 'nope'], 'read takes thr_ and 32 hex digits, or the address of its page, not "nope"'],
    [['read', '../status'], 'read takes thr_ and 32 hex digits'],
    [['reply', 'thr_1'], 'reply takes thr_ and'],
    [['follow', `agt_${'0'.repeat(32)}`], 'follow takes thr_ and'],
    [['follow'], 'follow takes either a thread or --tag; try follow --help'],
    [['ask'], 'ask takes either a thread or --title, and a text; try ask --help'],
    [['unfollow', ''], 'unfollow needs an id: thr_ and'],
    [['search', 'x', '--thread', 'nope'], '--thread takes thr_ and'],
    [['search', 'x', '--author', 'nope'], '--author takes agt_ and'],
    [['post', 'a', 'b', '--mention', 'ana'], '--mention takes agt_ and'],
    [['ask', absent, 'Merge?', '--mention', ''], '--mention takes at least one, not ""'],
    [['post', 'a', 'b', '--private', '--with', ','], '--with takes at least one, not ","'],
    [['watch', '--tag', '', '--exec', 'true'], '--tag takes at least one, not ""'],
    [['feed', '--tag', ''], '--tag takes at least one, not ""'],
    [['tag', absent, ''], 'tag takes at least one, not ""'],
    [['search', ''], 'search needs a word'],
    [['search', ' ', '--author', `agt_${'0'.repeat(32)}`], 'search needs a word'],
    [['search'], 'search needs a word'],
    [
      ['post', 'for eve', 'hush', '--with', `agt_${'0'.repeat(32)}`],
      '--with needs --private; --mention notifies somebody in public',
    ],
    [['post', 'a', 'b', '--with', ''], '--with needs --private'],
    [['post', 'x'.repeat(5000), 't'], 'the title has 5000 characters, and can have at most 160'],
    [
      ['post', 'a', '\u{1f600}'.repeat(8001)],
      'the text has 8001 characters, and can have at most 8000',
    ],
    [
      ['post', 'a', 'b', '--key', 'short'],
      '--key takes 8 to 128 of A-Z a-z 0-9 _ . : -, not "short"',
    ],
    [['post', 'a', 'b', '--key', 'with a space'], '--key takes 8 to 128 of'],
    [
      ['post', 'dash', '-dash'],
      'unknown flag -dash; try post --help, and write -- before a text that begins with a hyphen',
    ],
    [['threads', '--limit', '0'], '--limit takes 1 or more, not 0'],
    [['watch', '--exec', ''], '--exec takes a command, not an empty text'],
    [['watch', '--exec', ' \n'], '--exec takes a command, not an empty text'],
    [['threads', 'all'], 'threads takes no "all"'],
    [['threads', '--limt', '3'], 'unknown flag --limt (did you mean --limit?); try threads --help'],
    [['threads', '--limit', 'many'], '--limit takes a whole number, not "many"'],
    [['post'], 'post takes a title and a text'],
    [['reply', absent, 'two', 'words'], 'reply takes a thread and a text, in quotes'],
    [['reply', absent], 'standard input is not UTF-8', new Uint8Array([0xff])],
    [
      ['reply', absent],
      'standard input has more than 262144 bytes, and a text can have at most 8000 characters',
      'x'.repeat(300_000),
    ],
    [['post', 'a'], 'the text has 8001 characters, and can have at most 8000', 'x'.repeat(8001)],
    [['threads', '--order', 'activty'], '--order takes created or activity (did you mean activity'],
    [['read', absent, '--last', '0'], '--last takes 1 to 100'],
    [['read', absent, '--last', '3', '--after', '2'], 'read takes either --last, maybe with'],
    [['feed', '--after', 'raed'], '--after takes a whole number, not "raed"'],
    [['register', '--kind', 'gest'], '--kind takes persistent or guest (did you mean guest?)'],
    [['threads', '--url', 'localhost:8787'], '--url takes the origin of a node'],
    [
      ['whoami', '--identity', 'none.json'],
      /none\.json is not there yet; agent-forum register --name NAME --identity none\.json makes/,
    ],
    [['register', '--identity', 'nodir/x.json'], 'there is no directory nodir'],
    [['whoami', '--identity', '/etc/passwd'], 'agent-forum: /etc/passwd is not an identity file'],
    [['whoami', '--identity', '.'], 'agent-forum: . is a directory'],
    [['whoami', '--url', 'http://127.0.0.1:1'], `has an identity of ${url}, not of http`],
  ]
  for (const [args, says, input] of wrong) {
    const { code, stdout, stderr } = await ana.run(args, input)
    t.strictSame([code, stdout], [64, ''], args.join(' '))
    t.match(stderr, says)
    t.match(stderr, /^agent-forum: [^\n]+\n$/)
  }
  chmodSync(ana.file, 0o644)
  t.match(await ana.run(['whoami']), { code: 64, stderr: /others can read it; chmod 600/ })
})

t.test('shell: refused by the service: its code and sentence, exit 65', async (t) => {
  const ana = new Person(t)
  await ana.get(['register', '--url', url])
  const nobody = `agt_${'0'.repeat(32)}`
  for (const [args, code] of [
    [['read', absent], 'not_found'],
    [['reply', absent, 'text'], 'not_found'],
    [['reply', absent], 'invalid_field'],
    [['post', 'title', 'text', '--private', '--with', nobody], 'invalid_members'],
  ] as const) {
    const ran = await ana.run(args)
    t.strictSame([ran.code, ran.stdout], [65, ''], args.join(' '))
    t.match(ran.stderr, new RegExp(`^agent-forum: ${code}: [^\n]+\n$`))
  }
  const lost = new Person(t, { AGENT_FORUM_URL: url, AGENT_FORUM_TOKEN: `aic_${'0'.repeat(64)}` })
  t.match(await lost.run(['feed']), { code: 65, stderr: /invalid_token/ })
  t.match(await lost.run(['whoami']), { code: 65, stderr: /invalid_token/ })
  t.match(await lost.run(['register']), { code: 64, stderr: /AGENT_FORUM_TOKEN is set/ })
  // A token that a header cannot contain is neither sent nor shown.
  const torn = new Person(t, { AGENT_FORUM_URL: url, AGENT_FORUM_TOKEN: 'aic_1\naic_2' })
  t.match(await torn.run(['feed']), {
    code: 64,
    stdout: '',
    stderr: /^agent-forum: AGENT_FORUM_TOKEN has invalid characters[^\n1]+\n$/,
  })
})

t.test('shell: another node than that of the identity: is read as anybody does', async (t) => {
  const [own, other] = [shared, await startForum(t)]
  const ana = new Person(t)
  await ana.get(['register', '--url', own.url, '--name', 'Ana'])
  const thread = await publishedThread(await other.identity(), { title: 'elsewhere' })
  t.match(await ana.run(['threads', '--url', other.url]), { code: 0, stdout: /elsewhere/ })
  t.equal((await ana.run(['read', thread, '--url', other.url])).code, 0)
  const refused = await ana.run(['reply', thread, 'text', '--url', other.url])
  t.match(refused, { code: 64, stderr: /has an identity of .*, not of .*; leave out --url/ })
  const localhost = own.url.replace('127.0.0.1', 'localhost')
  t.match(await ana.run(['whoami', '--url', localhost]), { code: 0, stdout: /Ana/ })
  const again = await ana.run(['register', '--name', 'Another'])
  t.match(again, { code: 0, stdout: /Ana/, stderr: `${ana.file} is Ana already; Another was not` })
  const { token } = JSON.parse(readFileSync(ana.file, 'utf8'))
  const byToken = new Person(t, { AGENT_FORUM_URL: own.url, AGENT_FORUM_TOKEN: token })
  t.match(await byToken.run(['whoami']), { code: 0, stdout: /^agt_\S+ Ana .*AGENT_FORUM_TOKEN/ })
})

t.test('shell: whoami: asks the node: a replaced token, and a node that is away', async (t) => {
  const forum = await startForum(t)
  const ana = new Person(t)
  const [made] = await ana.json(['register', '--url', forum.url, '--name', 'ana'])
  await run(['admin', 'rotate-token', '--yes', `${made!.id}`, '--data', forum.data])
  const refused = await ana.run(['whoami'])
  t.strictSame([refused.code, refused.stdout], [65, ''])
  const whose = `${ana.file} has the token of ${made!.id} ana.`
  const newData =
    'If the data of the node are new, register again, in another file (--identity FILE).'
  t.equal(
    refused.stderr,
    `agent-forum: invalid_token: The token is unknown or has expired. ${whose} ${newData}\n`,
  )
  await forum.stop()
  const away = await ana.run(['whoami'])
  t.match(away, { code: 0, stdout: `${made!.id} ana (persistent) at ` })
  t.equal(away.stderr, `no answer from ${forum.url}; this is what ${ana.file} says\n`)
})

t.test('shell: an identity file that cannot be made: nobody is registered', async (t) => {
  const ana = new Person(t)
  writeFileSync(join(ana.home, 'file'), '')
  const args = ['register', '--url', url, '--identity', 'file/identity.json']
  const position = async () => (await shared.anonymous.get('/api/status')).body.position
  const before = await position()
  t.match(await ana.run(args), { code: 64, stderr: 'file is not a directory' })
  t.equal(await position(), before)
})

t.test('shell: help of each command: examples, flags and exit codes, on stdout', async (t) => {
  const ana = new Person(t)
  for (const [name, { examples, flags }] of Object.entries(shellCommands)) {
    const help = await ana.get([name, '--help'])
    t.equal(await ana.get(['help', name]), help)
    t.ok(examples.length > 0)
    for (const example of examples) t.ok(help.includes(`${example}\n`), example)
    for (const flag of Object.keys(flags)) t.match(help, `\n  --${flag} `)
    t.match(help, /\nExit codes: 0 done, 64 .*, 65 .*, 69 /)
    for (const line of help.split('\n')) t.ok([...line].length <= 100, line)
  }
})
