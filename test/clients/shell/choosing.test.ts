// Messages chosen by their types, and by the tags of their threads, from a shell.

import { readFileSync } from 'node:fs'
import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { indexed, searchedForum } from '../../forum/search/forum.ts'
import { Person } from './person.ts'

t.test(
  'shell: --type: of what is published, shown in brackets; it chooses what is read',
  async (t) => {
    const forum = await searchedForum(t)
    const [ana, ben] = [new Person(t), new Person(t)]
    for (const each of [ana, ben]) await each.get(['register', '--url', forum.url])
    const thread = await ana.get(['post', 'Build', 'Who takes it?', '--type', 'task'])
    await ben.get(['reply', thread, 'Begun.', '--type', 'progress'])
    await ben.get(['reply', thread, 'Ready.', '--type', 'done'])
    await ben.get(['reply', thread, 'By the way.'])
    const [begun, ready] = await ana.json(['feed'])
    const done = [{ ...ready, type: 'done' }]
    t.same(await ana.json(['feed', '--type', 'done']), done)
    t.match(
      await ana.get(['feed', '--type', 'done']),
      /^#\d+ \S+ \S+ \[done\] agt_[^\n]+\n {2}Ready\.$/,
    )
    t.match(await ana.json(['read', thread, '--type', 'done']), [{ seq: ready!.seq }])
    t.match(await ana.get(['read', thread]), /\[task\] agt_.*\[progress\] agt_/s)
    const last = (await ana.get(['read', thread, '--last', '1', '--type', 'task'])).split('\n')
    t.match(last, [`${thread} 4 `, / \[task\] /, '  Who takes it?'])
    const more = (await ana.get(['read', thread, '--limit', '1', '--type', 'progress'])).split('\n')
    t.same(more.slice(2), ['  Begun.'], 'there are no more of the type')
    const first = (await ana.get(['read', thread, '--last', '1', '--type', 'done'])).split('\n')
    t.equal(
      first[1],
      `earlier: agent-forum read ${thread} --last 1 --before ${ready!.seq} --type done`,
    )
    t.same(await ana.json(first[1]!.split(' ').slice(2)), [])
    await indexed(forum)
    const hits = await ana.json(['search', '--type', 'progress'])
    t.match(hits, [{ seq: begun!.seq, type: 'progress' }])
    t.equal(hits.length, 1)
    const { code, stderr } = await ana.run(['reply', thread, 'x', '--type', 'Done'])
    t.match([code, stderr], [65, /invalid_field: type must be/])
  },
)

t.test('shell: tags: given, replaced, listed, and chosen by', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [new Person(t), new Person(t)]
  for (const each of [ana, ben]) await each.get(['register', '--url', url, '--name', 'x'])
  const thread = await ana.get(['post', 'Build', 'Who takes it?', '--tag', 'infra,ci'])
  const other = await ana.get(['post', 'Lunch', 'When?', '--tag', 'infra'])
  t.equal(await ben.get(['threads', '--tag', 'infra,ci']), `${thread} 1 x: Build #infra #ci`)
  t.match(await ben.json(['threads', '--tag', 'infra']), [{ id: other }, { id: thread }])
  t.equal(await ben.get(['tags']), '1 ci\n2 infra')
  t.same(await ben.json(['tags', 'i']), [{ tag: 'infra', threads: 2 }])
  for (const [args, stderr] of [
    [['threads', '--tag', 'absent'], 'no threads\n'],
    [['tags', 'absent'], 'no tags\n'],
  ] as const) {
    t.same(await ben.run([...args]), { code: 0, stdout: '', stderr })
  }
  t.match(await ben.run(['tag', thread, 'mine']), { code: 65, stderr: /not_author/ })
  t.equal(await ana.get(['tag', thread, 'a,b', 'c']), `${thread} a b c`)
  t.equal(await ana.get(['tag', other]), `${other} has no tags`)
  await ben.get(['reply', thread, 'Me.'])
  await ben.get(['reply', other, 'Now.'])
  t.match(await ana.json(['feed', '--tag', 'a']), [{ thread_id: thread }])
  t.equal((await ana.json(['feed', '--tag', 'a'])).length, 1)
  t.match(await ana.run(['post', 'a', 'b', '--tag', 'A']), { code: 65, stderr: /tags\.0 must be/ })
})

t.test('shell: a page of what was chosen: its last line leads to the rest of it', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [new Person(t), new Person(t)]
  for (const each of [ana, ben]) await each.get(['register', '--url', url])
  const anaId = JSON.parse(readFileSync(ana.file, 'utf8')).id
  for (const tag of ['infra', 'lunch']) {
    const thread = await ana.get(['post', tag, 'Begin.', '--tag', tag])
    for (const flags of [[], ['--mention', anaId], ['--type', 'done']]) {
      await ben.get(['reply', thread, 'Twice today.', ...flags])
    }
  }
  for (const flags of [['--mentions'], ['--type', 'done'], ['--tag', 'infra'], ['--chars', '5']]) {
    const all = await ana.json(['feed', ...flags])
    const first = (await ana.get(['feed', '--limit', '1', ...flags])).split('\n').at(-1)!
    t.match(first, /^more: agent-forum feed /)
    t.same(await ana.json(first.split(' ').slice(2)), all.slice(1), `more: ${flags}`)
    const marked = ['feed', '--after', 'read', '--limit', '1', ...flags]
    const line = (await ana.get(marked)).split('\n').at(-1)!
    t.ok(line.includes(`agent-forum feed ${flags.join(' ')} --mark ${all[0]!.seq}`), line)
  }
})
