// `@name` in the texts of post and reply: whom it mentions, and what standard error says.

import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { Person } from './person.ts'

t.test('shell: a text names somebody: mentioned; in doubt: said, and published', async (t) => {
  const { url } = await startForum(t)
  const people = ['ana', 'ben', 'zoe', 'Zoe'].map(() => new Person(t, { AGENT_FORUM_URL: url }))
  const ids: string[] = []
  for (const [i, person] of people.entries()) {
    const [made] = await person.json([
      'register',
      '--name',
      ['ana', 'ben', 'zoe', 'Zoe'][i],
      '--listed',
    ])
    ids.push(made!.id as string)
  }
  const [ana] = people as [Person]
  const posted = await ana.run(['post', 'A question', 'Who knows, @Ben? Not `@zoe`.'])
  t.match(posted, { code: 0, stderr: '' })
  const thread = posted.stdout.trim()
  t.match(await ana.json(['read', thread]), [{ mention_ids: [ids[1]] }])

  const replied = await ana.run(['reply', thread, 'Or @zoe, or @carl?', '--mention', ids[1]])
  t.equal(replied.code, 0)
  t.match(replied.stderr, `@zoe mentions nobody: several have this name: ${ids[2]}, ${ids[3]}\n`)
  t.match(replied.stderr, '@carl mentions nobody: nobody has this name\n')
  const [, second] = await ana.json(['read', thread])
  t.match(second, { content: 'Or @zoe, or @carl?', mention_ids: [ids[1]] })

  const between = ['post', 'Between us', 'not for @ben', '--private', '--key', 'between-us']
  const hidden = await ana.run(between)
  t.match(hidden, { code: 0, stderr: /cannot be mentioned here\n$/ })
  const again = await ana.run(between)
  t.match(again, { code: 0, stdout: hidden.stdout, stderr: /as published before\n$/ }, 'once')
  const other = await ana.run([...between.with(2, 'another text for @ben')])
  t.match(other, { code: 65, stdout: '', stderr: /idempotency_conflict/ })
})
