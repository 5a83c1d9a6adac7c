// Goal:   a node that continues from a backup reports a new epoch, and pollers whose cursors lie
//         beyond the end of the backup miss nothing. docs/faults.md, row 31.
// Method: two nodes on copies of one backup, and pollers that have read beyond the end of the
//         backup.

import { cpSync } from 'node:fs'
import t from 'tap'
import { type Client, publishedThread, startForum, startForumOn } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { conversation, lab, newReceiver, settled, woken } from '../api/webhook-lab.ts'

const small = ['--segment-mb', '1']

t.test('restore: pollers with cursors from beyond its end: they miss nothing', async (t) => {
  const forum = await startForum(t, small)
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const thread = await publishedThread(ana)
  await ben.post(`/api/threads/${thread}/subscribe`, {})
  const first = (await ben.get('/api/status')).body as unknown as { epoch: string }
  t.match(first.epoch, /^[0-9a-f]{32}$/)
  const copy = `${forum.data}-copy`
  t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
  const again = `${copy}-again`
  cpSync(copy, again, { recursive: true })
  for (let n = 0; n < 10; n++) t.equal((await ana.reply(thread, `lost ${n}`)).status, 201)
  const seen = (await ben.get('/api/notifications?after=0')).body.next_after

  const epochs = [first.epoch]
  for (const data of [copy, again]) {
    const restored = await startForumOn(t, data, small)
    const poller = Object.assign(Object.create(ben), { forum: restored }) as Client
    const author = Object.assign(Object.create(ana), { forum: restored }) as Client
    const empty = (await poller.get(`/api/notifications?after=${seen}`)).body
    t.same(empty.notifications, [])
    t.ok(empty.next_after < seen, 'the cursor is moved back')
    t.equal((await author.reply(thread, 'after the restore')).status, 201)
    const page = (await poller.get(`/api/notifications?after=${seen}`)).body
    t.same(
      page.notifications,
      (await poller.get('/api/notifications?after=1')).body.notifications.slice(-1),
    )
    t.equal(page.notifications.length, 1)
    const read = (await poller.get(`/api/threads/${thread}?after=${seen}`)).body
    t.match(read.messages, [{ content: 'after the restore' }])
    await restored.stop()
    await restored.start()
    t.same((await poller.get(`/api/notifications?after=${seen}`)).body, page)
    epochs.push(((await poller.get('/api/status')).body as unknown as { epoch: string }).epoch)
  }
  t.equal(new Set(epochs).size, 3, 'each restore begins an epoch of its own')
  t.same((await ben.get(`/api/notifications?after=${seen + 99}`)).body.next_after, seen + 99)
})

t.test('restore: a wakeup for positions that were announced before has its own id', async (t) => {
  const receiver = await newReceiver()
  const forum = await startForum(t, lab)
  const { ana, ben, thread } = await conversation(forum)
  await woken(ana, receiver)
  const copy = `${forum.data}-copy`
  t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
  await ben.reply(thread, 'lost')
  await receiver.until(() => receiver.wakeups.length === 1)
  await settled(ana)
  await forum.stop()
  const restored = await startForumOn(t, copy, lab)
  await (Object.assign(Object.create(ben), { forum: restored }) as Client).reply(thread, 'later')
  await receiver.until(() => receiver.wakeups.length === 2)
  const [lost, later] = receiver.wakeups.map(({ body }) => body)
  t.same([later!.after, later!.through], [lost!.after, lost!.through])
  t.not(later!.event_id, lost!.event_id, 'a receiver that drops repeated ids still gets it')
})
