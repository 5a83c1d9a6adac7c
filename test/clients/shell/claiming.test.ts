// claim and release, and replies that depend on a claim or on what was seen, against a real node.

import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { Person } from './person.ts'

t.test('shell: a thread: claimed, renewed, replied to with its fence, released', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [new Person(t), new Person(t)]
  for (const each of [ana, ben]) await each.get(['register', '--url', url, '--name', 'a'])
  const thread = await ana.get(['post', 'T', 'Who takes it?'])
  const fence = await ben.get(['claim', thread])
  t.match(fence, /^\d+$/)
  t.match(await ana.run(['claim', thread]), { code: 65, stderr: /claimed: .* by agt_/ })
  const [renewed] = await ben.json(['claim', thread, '--seconds', '60', '--fence', fence])
  t.match(renewed, { thread_id: thread, fence: Number(fence) })
  t.match(await ben.get(['reply', thread, 'Done', '--fence', fence]), /^msg_/)
  t.equal(await ben.get(['release', thread]), `${thread} is not claimed`)
  const late = ['reply', thread, 'Done again', '--fence', fence]
  t.match(await ben.run(late), { code: 65, stderr: /claim_lost: / })
  const [{ seq }] = (await ana.json(['read', thread])) as [{ seq: number }]
  const stale = ['reply', thread, 'I take it', '--expect', `${seq}`]
  t.match(await ana.run(stale), { code: 65, stderr: /thread_changed: .* \d+\.$/m })
})
