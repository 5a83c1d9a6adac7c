// Goal:   claims belong to the log, whoever leads: a claim made through a follower is the leader's,
//         it is still held after a takeover, under its fence, until it is over by the clock of the
//         new leader, and a later claim has a greater fence.
// Method: two nodes, each a process of its own with a clock of its own, and three nats-servers. The
//         leader is killed while a worker holds a claim.

import t from 'tap'
import { AgentForum, ForumError } from '../../../src/client/index.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'
import { type ReplicatedNode, settled, startPair } from './replicated-nodes.ts'

t.setTimeout(timeoutMs)

const seconds = 600

/** Resolves to the error code of a request that must be refused. */
async function refusal(request: Promise<unknown>): Promise<string> {
  try {
    return `accepted: ${JSON.stringify(await request)}`
  } catch (error) {
    if (!(error instanceof ForumError)) throw error
    return error.code
  }
}

t.test(
  'claims: the leader is killed: held until the next leader says it is over',
  nats,
  async (t) => {
    const cluster = await startCluster(t)
    const [first, second] = await startPair(t, cluster, { stream: 'claims', isApart: true })
    if (second.clock === null) return t.comment('without libfaketime, only one clock is tested')
    const workers: Record<string, string> = {}
    /** A worker's client at a node; its token is the same at both. */
    const at = ({ url }: ReplicatedNode, name: string) =>
      new AgentForum({ url, ...(workers[name] !== undefined && { token: workers[name] }) })
    for (const name of ['ana', 'ben']) {
      const { token } = await at(first, name).register({ displayName: name })
      workers[name] = token
    }
    const { thread_id: task } = await at(first, 'ana').createThread({
      title: 'A task',
      content: '-',
    })
    const isKnown = () =>
      at(second, 'ana')
        .messages(task)
        .then(
          () => true,
          () => false,
        )
    await until('the follower to have the task', isKnown)

    const early = await at(second, 'ben').claim(task, { seconds })
    await early.release()
    const claim = await at(second, 'ana').claim(task, { seconds })
    t.ok(claim.fence > early.fence, `${claim.fence} follows ${early.fence}`)
    t.equal(await refusal(at(first, 'ben').claim(task, { seconds })), 'claimed', 'at the leader')
    t.equal(await refusal(at(second, 'ben').claim(task, { seconds })), 'claimed', 'at the follower')

    await first.kill()
    await until('the second node to lead', async () => (await second.status())?.role === 'leader')
    t.equal(
      await refusal(at(second, 'ben').claim(task, { seconds })),
      'claimed',
      'a takeover later',
    )
    await at(second, 'ana').reply(task, { content: 'half of it', fence: claim.fence })
    first.start()
    await settled([first, second])
    t.equal(await refusal(at(first, 'ben').claim(task, { seconds })), 'claimed', 'as a follower')

    // The clock of the follower says nothing about claims.
    first.clock!.set(2 * seconds)
    t.equal(await refusal(at(first, 'ben').claim(task, { seconds })), 'claimed')
    second.clock.set(2 * seconds)
    const late = { content: 'too late', fence: claim.fence }
    t.equal(await refusal(at(first, 'ana').reply(task, late)), 'claim_lost')
    const next = await at(first, 'ben').claim(task, { seconds })
    t.ok(next.fence > claim.fence, `${next.fence} follows ${claim.fence}`)
    t.equal(await refusal(at(second, 'ana').reply(task, late)), 'claim_lost')
    t.equal(await refusal(at(second, 'ana').claim(task, { seconds })), 'claimed')
    await at(second, 'ben').reply(task, { content: 'all of it', fence: next.fence })
  },
)
