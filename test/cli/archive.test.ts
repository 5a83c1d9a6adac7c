// agent-forum export and import: what they make, and their exit codes.

import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { readState } from '../../src/engine/storage/stored-state.ts'
import { startForum, startForumOn } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'
import { ask, atTime, type Expected } from '../fixtures/asking.ts'
import { freePort } from '../free-port.ts'

const fixture = join(import.meta.dirname, '../../../test/fixtures/release-1.0')
const flagsOf = (out: string, more: string[] = []) => ['--out', out, ...more]

/** Returns a new directory with the fixture's data in `store`. */
function withStore(t: Test): { store: string; at: (name: string) => string } {
  const directory = dataDirectory(t)
  mkdirSync(directory)
  const at = (name: string) => join(directory, name)
  cpSync(join(fixture, 'store'), at('store'), { recursive: true })
  return { store: at('store'), at }
}

// It tries for a minute, in which the other tests run.
const unanswered = freePort().then((port) => run(['export', '--url', `http://127.0.0.1:${port}`]))

t.test('export: imported: a node on it: answers as the first one, and goes on', async (t) => {
  const { store, at } = withStore(t)
  const [first, second, data] = [at('first'), at('second'), at('data')]
  const files = readdirSync(store)
  const exported = await run(['export', '--data', store, ...flagsOf(first, ['--with-tokens'])])
  const counts = /: \d+ identities, \d+ threads, \d+ messages, up to position (\d+)\n$/
  t.match(exported, { code: 0, stdout: counts, stderr: '' })
  const [said, position] = counts.exec(exported.stdout)!
  t.same(readdirSync(store), files, 'reads only')
  t.equal(statSync(first).mode & 0o777, 0o600)
  t.match(await run(['import', first, '--data', `${data}/`]), {
    code: 0,
    stdout: `${data}/${said}`,
  })
  t.match(await run(['wal', 'verify', '--data', data]), { code: 0 })
  await run(['export', '--data', data, ...flagsOf(second, ['--with-tokens'])])
  t.equal(readFileSync(second, 'utf8'), readFileSync(first, 'utf8'))

  const expected: Expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8'))
  const isOfNode = /webhook|deliveries|compat/
  const [replaced] = (await readState(store, () => {})).identities.tokens.facts()
  t.equal(replaced.length, 2, 'tokens in their grace period, which are not in an archive')
  const isReplaced = (token: string) => {
    const digest = createHash('sha256').update(token).digest('hex')
    return replaced.some(([, kept]) => digest.startsWith(kept))
  }
  const reads = expected.answers.filter(({ method, path, token }) => {
    return method === 'GET' && !isOfNode.test(path) && !isReplaced(token)
  })
  t.ok(reads.length > 300, `${reads.length} reads`)
  const epochs = new Set([readFileSync(join(data, 'epoch'), 'utf8')])
  await atTime(data, { at: expected.at, resent: 0 }, async (url) => {
    for (const { status, text, ...question } of reads) {
      const answer = await ask(url, question)
      t.same([answer.status, answer.text], [status, text], `${question.method} ${question.path}`)
    }
    const { token } = reads.find(({ status, token }) => status === 200 && token !== '')!
    const body = { title: 'After the import', content: 'C' }
    const made = await ask(url, {
      method: 'POST',
      path: '/api/threads',
      token,
      key: 'after-import',
      body,
    })
    const { read_url: path } = JSON.parse(made.text)
    const page = await ask(url, { method: 'GET', path, token })
    t.equal(page.status, 200)
    t.ok(JSON.parse(page.text).messages[0].seq > Number(position), 'a position of its own')
  })
  epochs.add(readFileSync(join(data, 'epoch'), 'utf8'))
  t.match(
    [...epochs],
    [
      new RegExp(`^{"id":null,"position":${position}}`),
      new RegExp(`^{"id":"[0-9a-f]{32}","position":${position},`),
    ],
  )
})

t.test(
  'export: without tokens: imported: nobody has one, until an operator gives it',
  async (t) => {
    const forum = await startForum(t, ['--segment-mb', '1'])
    const ana = await forum.identity({ display_name: 'ana' })
    await forum.stop()
    const [out, data] = [`${forum.data}-out`, join(dataDirectory(t), 'data')]
    await run(['export', '--data', forum.data, ...flagsOf(out)])
    t.notMatch(readFileSync(out, 'utf8'), 'token_digest')
    t.match(await run(['import', out, '--data', data]), { code: 0 })
    const other = await startForumOn(t, data, [])
    const headers = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
    const self = async (token: string) =>
      (await fetch(`${other.url}/api/identities/me`, headers(token))).status
    t.equal(await self(ana.token), 401)
    const given = await run(['admin', 'rotate-token', ana.id, '--yes', '--data', data])
    t.equal(await self(/aic_[0-9a-f]{64}/.exec(given.stdout)![0]), 200)
  },
)

t.test('export: of a running node: what is public, as its directory has it', async (t) => {
  const node = await startForum(t, ['--members-only'])
  const [ana, ben] = [new AgentForum({ url: node.url }), new AgentForum({ url: node.url })]
  const { id: benId } = await ben.register({ displayName: 'ben' })
  const { token } = await ana.register({ displayName: 'ana', kind: 'persistent' })
  await new AgentForum({ url: node.url }).register({ displayName: 'nobody' })
  const [older, newer] = [
    await ana.createThread({ title: 'Older', content: 'C' }),
    await ben.createThread({
      title: 'Né"',
      content: '\u0001 😀',
      type: 'question',
      tags: ['a', 'b'],
    }),
  ]
  const hidden = { visibility: 'private', participantIds: [benId] } as const
  await ana.createThread({ title: 'Hidden', content: 'C', ...hidden })
  for (let n = 0; n < 120; n++) await ben.reply(older!.thread_id, { content: `reply ${n}` })
  await ben.claim(newer!.thread_id, { seconds: 3600 })
  const gone = await ana.reply(newer!.thread_id, { content: 'Gone', mentionIds: [benId] })
  await ben.reply(newer!.thread_id, { content: 'Stays', mentionIds: [benId] })
  const { proposal_id, proposal_hash: proposalHash } = await ana.propose({
    kind: 'policy',
    title: 'P',
    description: 'D',
  })
  await ben.review(proposal_id, { proposalHash, decision: 'approve', text: 'Yes' })
  for (const act of [
    ['lock-thread', older!.thread_id],
    ['remove-message', gone.message_id, '--yes'],
  ]) {
    t.match(await run(['admin', ...act, '--data', node.data]), { code: 0 })
  }
  const [out, all, tokenFile] = ['out', 'all', 'token'].map((name) => `${node.data}-${name}`)
  writeFileSync(tokenFile!, `${token}\n`)
  t.match(await run(['export', '--url', node.url]), { code: 65, stderr: /token_required/ })
  const flags = ['--token-file', tokenFile!, '--out', out!]
  const exported = await run(['export', '--url', node.url, ...flags])
  t.match(exported, { code: 0, stderr: '', stdout: /: 2 identities, 2 threads, 124 messages, up/ })
  await node.stop()
  await run(['export', '--data', node.data, '--out', all!])
  const linesIn = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n').slice(1, -1)
  const isPublic = (line: string) => {
    return !/"(?:Hidden|nobody)"|^\{"(?:subscription|read|act)"/.test(line)
  }
  const hiddenId = /"id":"(thr_\w+)",\S+"Hidden"/.exec(readFileSync(all!, 'utf8'))![1]!
  const wanted = linesIn(all!).filter((line) => isPublic(line) && !line.includes(hiddenId))
  t.same(linesIn(out!).filter(isPublic), wanted)
  const last = [
    /^\{"act":\{"kind":"locked"/,
    /^\{"act":\{"kind":"removed"/,
    /^\{"claim":.*"fence":1\}/,
  ]
  t.match(linesIn(out!).slice(-3), last)
  t.match(await run(['import', out!, '--data', `${node.data}-2`]), { code: 0, stderr: '' })
  await run(['export', '--data', `${node.data}-2`, '--out', `${out}-2`])
  t.equal(readFileSync(`${out}-2`, 'utf8'), readFileSync(out!, 'utf8'))
})

t.test('export, import: what cannot be done: an exit code, and nothing is left', async (t) => {
  const { store, at } = withStore(t)
  const [good, data] = [at('good'), at('data')]
  await run(['export', '--data', store, ...flagsOf(good)])
  const text = readFileSync(good, 'utf8')
  const changed = (name: string, bytes: string | Buffer) => {
    writeFileSync(at(name), bytes)
    return at(name)
  }
  const redone = (body: string) => {
    const sha256 = createHash('sha256').update(body).digest('hex')
    const lines = body.split('\n').length - 1
    return `${body}${JSON.stringify({ end: { lines, sha256 } })}\n`
  }
  const files = {
    cut: changed('cut', text.slice(0, -100)),
    altered: changed('altered', text.replace('"ana"', '"eve"')),
    foreign: changed('foreign', '{"a":1}\n'),
    newer: changed('newer', text.replace('"format":1', '"format":2')),
    bad: changed('bad', redone('{"archive":{"format":1,"position":9}}\n{"thread":{}}\n')),
  }
  const used = await startForum(t)
  const cases: [code: number, args: string[], why: RegExp][] = [
    [64, ['import'], /import needs one FILE; try import --help/],
    [64, ['import', good, good], /import needs one FILE/],
    [64, ['import', good, '--data', store], /--data takes a new directory, not /],
    [64, ['export', '--data', data], /there is no log in /],
    [64, ['export', '--data', store, '--out', good], /--out takes a file that is not there yet/],
    [64, ['export', '--url', 'ftp://x'], /--url: /],
    [
      64,
      ['export', '--url', used.url, '--data', store],
      /--url takes no --data; try export --help/,
    ],
    [64, ['export', '--url', used.url, '--with-tokens'], /--url takes no --with-tokens/],
    [64, ['export', '--token-file', good], /--token-file needs --url/],
    [64, ['export', '--url', used.url, '--token-file', good], /there is no token in /],
    [64, ['export', '--url', used.url, '--token-file', data], /cannot be read/],
    [64, ['export', '--bananas'], /unknown flag --bananas; try export --help/],
    [65, ['import', files.bad, '--data', data], /bad: line 2: id must be thr_ and 32/],
    [65, ['import', files.foreign, '--data', data], /its first line is not that of an archive/],
    [74, ['import', at('missing'), '--data', data], /cannot read .*missing: ENOENT/],
    [75, ['export', '--data', used.data, '--out', at('none')], /is in use|in use by/],
    [75, ['import', good, '--data', used.data], /is in use|in use by/],
    [76, ['import', files.newer, '--data', data], /its format is 2, and this program knows 1/],
    [77, ['import', files.cut, '--data', data], /is cut or changed/],
    [77, ['import', files.altered, '--data', data], /is cut or changed: it is not as it was/],
  ]
  for (const [code, args, why] of cases) {
    const ended = await run(args)
    t.match(ended, { code, stdout: '', stderr: why }, args.join(' '))
    t.match(ended.stderr, /^agent-forum: .*\n$/, 'in one line')
    for (const left of [data, `${data}.partial`, at('none')]) t.notOk(existsSync(left), left)
  }
})

t.test('import: more text than is held: saved meanwhile; exported from the disk', async (t) => {
  const directory = dataDirectory(t)
  mkdirSync(directory)
  const [first, second, data] = ['first', 'second', 'data'].map((name) => join(directory, name))
  const [ana, thread] = [`agt_${'1'.repeat(32)}`, `thr_${'2'.repeat(32)}`]
  const idOf = (seq: number) => `msg_${createHash('md5').update(`${seq}`).digest('hex')}`
  const own = `"author_id":"${ana}"`
  const of = `"display_name":"ana"`
  const count = 6000
  const lines = [
    `{"archive":{"format":1,"position":${2 * count}}}`,
    `{"identity":{"id":"${ana}","kind":"persistent",${of},"created_at":5,` +
      '"expires_at":null,"listed":false}}',
    `{"thread":{"id":"${thread}",${own},"title":"T","visibility":"public",` +
      `"created_at":6,${of},"seq":2}}`,
  ]
  const acts: string[] = []
  for (let seq = 2; seq <= 2 * count; seq += 2) {
    const isRemoved = seq % 1000 === 0
    const content = isRemoved ? '[removed]' : `${seq} ${'é'.repeat(7990)}`
    const removed = isRemoved ? ',"removed":true' : ''
    lines.push(
      `{"message":{"thread_id":"${thread}","seq":${seq},"id":"${idOf(seq)}",${own},${of},` +
        `"kind":"persistent","content":"${content}","created_at":${seq + 4}${removed}}}`,
    )
    if (!isRemoved) continue
    acts.push(
      `{"act":{"kind":"removed","id":"${idOf(seq)}","position":${seq + 1},"at":9,"reason":""}}`,
    )
  }
  acts[acts.length - 1] = acts.at(-1)!.replace(`${2 * count + 1}`, `${2 * count}`)
  const body = [...lines, ...acts].map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  const end = JSON.stringify({ end: { lines: lines.length + acts.length, sha256 } })
  writeFileSync(first!, `${body}${end}\n`)
  t.match(await run(['import', first!, '--data', data!]), { code: 0, stderr: '' })
  const manifests = readdirSync(data!).filter((name) => name.endsWith('.checkpoint'))
  t.ok(
    manifests.every((name) => Number.parseInt(name, 10) > 2),
    `saved before: ${manifests}`,
  )
  t.match(await run(['export', '--data', data!, ...flagsOf(second!)]), { code: 0, stderr: '' })
  t.ok(readFileSync(second!).equals(readFileSync(first!)), 'the same bytes')
})

t.test('export: nobody answers at that address: exit 69', async (t) => {
  t.match(await unanswered, { code: 69, stderr: /no answer from / })
})
