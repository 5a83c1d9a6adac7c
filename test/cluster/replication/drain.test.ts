// A leader that takes a checkpoint or stops during an outage of the stream, or takes another or
// stops while it uploads one.

import { mock } from 'node:test'
import t from 'tap'
import { uploadedCheckpoint } from '../../../src/cluster/replication/checkpoint-transfer.ts'
import { StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'
import { Uploads } from '../../../src/cluster/replication/uploads.ts'
import { inTime, until } from '../../until.ts'
import { LeadingNode, newDirectory } from './leading-node.ts'
import { MemoryStream } from './memory-stream.ts'

t.test('lead: stops while a lost checkpoint is taken again, without the stream', async (t) => {
  const stream = new MemoryStream()
  const dir = newDirectory(t)
  const first = await new LeadingNode(dir).open()
  await first.lead(stream)
  await first.write('one')
  await inTime('the stop', first.close())
  await stream.trim(stream.messages.length) // no checkpoint covers what is missing
  const node = await new LeadingNode(dir).open()
  const { get } = stream
  let look = () => {}
  const looked = new Promise<void>((resolve) => {
    look = resolve
  })
  let isHeld = false
  stream.get = async (sequence) => {
    isHeld = true
    await looked
    return get.call(stream, sequence)
  }
  const { take } = node.checkpoints
  let isTaking = false
  node.checkpoints.take = () => {
    isTaking = true
    return take.call(node.checkpoints)
  }
  t.equal(await node.lead(stream), true)
  await until('it to look for the checkpoint', () => isHeld)
  const { publish } = stream
  let hasStopped = false
  t.teardown(async () => {
    stream.publish = publish
    if (!hasStopped) await inTime('the stop with the stream', node.close())
  })
  stream.publish = () => Promise.reject(new StreamUnavailable('no majority'))
  const writing = node.write('two').catch(() => {})
  look()
  await until('a checkpoint', () => isTaking)
  mock.timers.enable({ apis: ['setTimeout'] })
  const draining = node.leading!.drain()
  mock.timers.tick(10_000)
  mock.timers.reset()
  await inTime('the leader to give up', draining)
  await inTime('the write to be refused', writing)
  await inTime('the stop', node.close())
  hasStopped = true
})

t.test(
  'lead: a checkpoint has what the stream lacks: it is taken when the stream has it',
  async (t) => {
    const stream = new MemoryStream()
    const node = await new LeadingNode(newDirectory(t)).open()
    t.teardown(() => inTime('the stop', node.close()))
    await node.lead(stream)
    await node.write('one')
    const { publish } = stream
    stream.publish = () => Promise.reject(new StreamUnavailable('no majority'))
    const writing = node.write('two')
    const { journal } = node.leading!
    const { sync } = journal
    let isAwaited = false
    journal.sync = () => {
      isAwaited = true
      return sync.call(journal)
    }
    let isTaken = false
    const taking = node.checkpoints.take().then(() => {
      isTaken = true
    })
    await until('it to wait for the stream', () => isAwaited || isTaken)
    t.equal(node.checkpoints.latest, null)
    stream.publish = publish
    await Promise.all([writing, taking])
    t.equal(node.checkpoints.latest?.position, node.journal.position)
  },
)

t.test('first: stopped while the checkpoint is uploaded: it stops at once', async (t) => {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  t.teardown(() => inTime('the stop', node.close()))
  await node.write('one')
  let puts = 0
  stream.objects.put = async () => void puts++
  const isStopped = () => puts > 0
  const { checkpoints, forum } = node
  await new Uploads({ stream, checkpoints, forum, node: 'a', onNotice() {}, isStopped }).first()
  t.equal(puts, 1)
  t.equal(await uploadedCheckpoint(stream), null)
})

t.test('uploads: one is taken while another is under way: it is uploaded as well', async (t) => {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  t.teardown(() => node.close())
  await node.lead(stream)
  await node.write('one')
  const { put } = stream.objects
  let puts = 0
  let letOn = () => {}
  const held = new Promise<void>((resolve) => {
    letOn = resolve
  })
  stream.objects.put = async (name, bytes) => {
    puts += 1
    await held
    return put.call(stream.objects, name, bytes)
  }
  await node.checkpoints.take()
  await until('an upload', () => puts === 1)
  await node.write('two')
  await node.checkpoints.take()
  letOn()
  const { position } = node.journal
  await until('both uploads', async () => {
    return (await uploadedCheckpoint(stream))?.position === position
  })
})
