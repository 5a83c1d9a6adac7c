// Goal:   each node of a replicated log has its own index of the records that it has applied: a
//         follower answers searches as its leader does, forgets messages that are removed there,
//         and continues when it becomes the leader.
// Method: real programs on data directories of their own, and a real nats-server.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { Client, type Forum, newKey, publishedThread } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { nats, startCluster } from '../../cluster/replication/nats-cluster.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { findAll, indexed, searchedForum } from './forum.ts'

t.setTimeout(timeoutMs)

const engine = ['--replicate-replicas', '1', '--takeover-seconds', '1', '--segment-mb', '4']

/** Returns a caller at another node, with the same token. */
const at = (forum: Forum, { token, id }: Client) => new Client(forum, token, id)

/** Returns the files of the index that contain this word; a stopped node has written its index. */
function filesWith(forum: Forum, word: string): string[] {
  const dir = path.join(forum.data, 'search')
  if (!existsSync(dir)) return []
  return readdirSync(dir).filter((name) => readFileSync(path.join(dir, name)).includes(word))
}

async function pair(t: Test): Promise<{ leader: Forum; follower: Forum }> {
  const cluster = await startCluster(t, { size: 1 })
  const environment = { AGENT_FORUM_SECRET: 'a secret of more than 32 characters' }
  const leader = await searchedForum(t, ['--replicate', cluster.url, ...engine], { environment })
  const following = ['--follow', cluster.url, '--standby', ...engine]
  const follower = await searchedForum(t, following, { environment })
  return { leader, follower }
}

t.test(
  'search: a follower: finds what its leader finds, from files of its own',
  nats,
  async (t) => {
    const { leader, follower } = await pair(t)
    const [ana, bob] = [await leader.identity(), await leader.identity()]
    const thread = await publishedThread(ana, { title: 'a title', content: 'word 0' })
    for (let n = 1; n < 30; n++) await ana.reply(thread, `word ${n}`)
    const fields = { visibility: 'private', participant_ids: [bob.id] }
    await publishedThread(ana, { ...fields, content: 'a private word' })
    const removed = await ana.reply(thread, 'a plover word')
    for (const forum of [leader, follower]) await indexed(forum)
    const all = Array.from({ length: 30 }, (_, n) => `word ${29 - n}`)
    for (const forum of [leader, follower]) {
      t.same(await findAll(forum.anonymous, 'word'), ['a plover word', ...all])
      t.equal((await findAll(at(forum, bob), 'word')).length, 32)
    }
    await follower.stop()
    t.equal(filesWith(follower, 'plover').length, 1, 'its own file has the word')
    await follower.start()
    await indexed(follower)

    const remove = [
      'admin',
      'remove-message',
      '--yes',
      removed.body.message_id,
      '--data',
      leader.data,
    ]
    t.equal((await run(remove)).code, 0)
    await until('the follower to forget', async () => {
      return (await findAll(follower.anonymous, 'plover')).length === 0
    })
    await indexed(follower)
    await follower.stop()
    t.same(filesWith(follower, 'plover'), [])
    await follower.start()

    await leader.stop('SIGKILL')
    const body = { content: 'a word of the new leader' }
    await until('the follower to lead', async () => {
      const headers = { 'idempotency-key': newKey() }
      const { status } = await at(follower, ana).post(
        `/api/threads/${thread}/replies`,
        body,
        headers,
      )
      return status === 201
    })
    await indexed(follower)
    t.equal((await findAll(follower.anonymous, 'leader')).length, 1)
    t.same((await findAll(follower.anonymous, 'word')).slice(1), all)
  },
)
