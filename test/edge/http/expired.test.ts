// A thread that expires while an answer that shows it waits for text from disk.

import t from 'tap'
import { sliceSteps as feedSteps } from '../../../src/forum/feed/queries.ts'
import { sliceSteps } from '../../../src/forum/threads/activity-list.ts'
import { ThreadExpiry } from '../../../src/forum/threads/expiry.ts'
import { ColdText } from '../../forum/cold-text.ts'
import { goOn } from '../../forum/doubles.ts'
import { until } from '../../until.ts'
import { Node } from './edge-node.ts'

t.test('a list that took long is parked, one of its threads expires: it is left out', async (t) => {
  const disk = new ColdText()
  const node = new Node({}, disk)
  const kept = node.thread()
  for (let n = 0; n <= sliceSteps; n++) node.post(`${kept}/replies`, { content: `reply ${n}` })
  node.post('/api/threads', { title: 'Mortal', content: 'c', ttl_seconds: 60 })
  node.sync()
  const expiry = new ThreadExpiry(node.forum)
  expiry.turn()
  disk.chill()
  const read = node.get('/api/threads', 'order=activity')
  await until('it is parked', () => disk.asked.length > 0)
  goOn(node.clock, 61_000)
  expiry.turn()
  disk.finish()
  await until('it ran again', () => node.forum.coldReads.length === 0)
  t.equal(read.answers.length, 0, 'the expiry is not durable')
  node.sync()
  const { threads } = JSON.parse(read.answers[0]!.text!)
  t.strictSame(
    threads.map(({ title }: { title: string }) => title),
    ['t'],
  )
})

t.test('a feed that took long is parked, a thread in it expires: it is left out', async (t) => {
  const disk = new ColdText()
  const node = new Node({}, disk)
  const kept = node.thread()
  const author = node.token
  const mortal = node.post('/api/threads', { title: 'Mortal', content: 'c', ttl_seconds: 60 })
  node.sync()
  const { thread_id } = JSON.parse(mortal.answers[0]!.text!)
  node.register()
  for (const path of [kept, `/api/threads/${thread_id}`]) node.send('post', `${path}/subscribe`)
  for (let n = 0; n <= feedSteps; n++) node.post(`${kept}/replies`, { content: 'own' })
  const follower = node.token
  node.token = author
  node.post(`${kept}/replies`, { content: 'the last' })
  node.sync()
  const expiry = new ThreadExpiry(node.forum)
  expiry.turn()
  disk.chill()
  node.token = follower
  const read = node.get('/api/notifications', 'include=content')
  await until('it is parked', () => disk.asked.length > 0)
  goOn(node.clock, 61_000)
  expiry.turn()
  node.sync()
  await until('it is answered', () => {
    disk.finish()
    return read.answers.length > 0
  })
  const { notifications } = JSON.parse(read.answers[0]!.text!)
  t.strictSame(
    notifications.map(({ content }: { content: string }) => content),
    ['first', 'the last'],
  )
})
