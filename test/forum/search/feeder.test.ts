// The entries that the index is given by the forum: E1 of forum/search/feeder.ts.

import t from 'tap'
import { eraseMessage } from '../../../src/forum/moderation/commands.ts'
import { Feeder } from '../../../src/forum/search/feeder.ts'
import { Node } from '../../edge/http/edge-node.ts'
import { ColdText } from '../cold-text.ts'

t.test('E1: removed while texts are read, and not durable yet: nothing is given', async (t) => {
  const disk = new ColdText()
  const node = new Node({}, disk)
  const { forum } = node
  node.thread()
  disk.chill()
  node.thread()
  node.sync()
  const feeder = new Feeder(forum)
  const want = { type: 'want', from: 0, limit: 10 } as const

  const batch = feeder.batch(want)
  t.equal(disk.asked.length, 1, 'the text of the first message is on disk')
  const id = `msg_${forum.state.messages.id(1)}`
  t.match(await eraseMessage(forum, { id, reason: 'spam' }), { isNew: true })
  disk.finish()
  t.equal(await batch, null)
  t.equal(await feeder.batch(want), null)

  node.sync()
  const again = feeder.batch(want)
  disk.finish()
  const { texts } = (await again)!
  t.match(Buffer.from(texts).toString(), /"content":"first".*"removed":true/)
})
