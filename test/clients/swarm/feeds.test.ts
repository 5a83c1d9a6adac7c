// Goal:   a feed that lacks, repeats, invents or misplaces an item is reported, both when it is
//         gathered during publishing and when it is read afterwards. What a feed may skip is not
//         reported.

import t, { type Test } from 'tap'
import { Client } from '../../../src/clients/swarm/client.ts'
import { Differences } from '../../../src/clients/swarm/differences.ts'
import { AgentFeeds, type Inbox } from '../../../src/clients/swarm/feeds.ts'
import { Pace } from '../../../src/clients/swarm/pace.ts'
import { type Plan, planOf } from '../../../src/clients/swarm/plan.ts'
import { introduce, publishThread } from '../../../src/clients/swarm/publish.ts'
import { dueFeed, verifyGathered, verifyThread } from '../../../src/clients/swarm/verify-items.ts'
import type { Answer, Body, FakeForum } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

/** A run in which agents do nothing but publish and poll. */
const plain = { searches: null, mix: null, thinkMs: 0, replayedAnswers: 0 }

const wrongFeeds: { what: string; change: (items: Body[]) => Body[] }[] = [
  { what: 'leaves an item out', change: (items) => items.slice(1) },
  { what: 'shows an item twice', change: (items) => [items[0], ...items] },
  { what: 'swaps two items', change: ([a, b, ...others]) => [b, a, ...others] },
  { what: 'invents one', change: ([a, ...others]) => [{ ...a, message_id: 'msg_x' }, ...others] },
  { what: 'names another thread', change: ([a, ...b]) => [{ ...a, thread_id: 'thr_x' }, ...b] },
  { what: 'names another author', change: ([a, ...b]) => [{ ...a, author_id: 'agt_x' }, ...b] },
  { what: 'names another time', change: ([a, ...b]) => [{ ...a, created_at: 1 }, ...b] },
  { what: 'names another seq', change: ([a, ...b]) => [{ ...a, seq: a.seq - 0.5 }, ...b] },
]

for (const { what, change } of wrongFeeds) {
  t.test(`feed: it ${what}: the agent and the item are named: exit code 1`, async (t) => {
    let broken = false
    const forum = await fakeForum(t, {
      answer: (operation, answer) => {
        if (operation !== 'feed' || broken || answer.body.notifications.length < 3) return answer
        broken = true
        return withItems(answer, change(answer.body.notifications))
      },
    })
    const { code, stdout, stderr } = await swarm(...small, '--url', forum.url)
    // A seq that is not an integer is rejected at once.
    if (what === 'names another seq') t.match(stderr, /seq must be integer/)
    else t.match(stdout, /the feed that agent-\d+ gathered, item \d+: .*, due: /)
    t.equal(code, 1)
  })
}

t.test('feed: right while publishing, short afterwards: found: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer) => {
    const verifying = (forum.seen.get('read') ?? 0) > 0
    if (operation !== 'feed' || !verifying) return answer
    return withItems(answer, answer.body.notifications.slice(0, -1))
  }
  const { code, stdout } = await swarm(...small, '--url', forum.url)
  t.match(stdout, /6 of 6 feeds exact, \d+ items, gathered/)
  t.match(stdout, /the feed of agent-\d+ ends after \d+ of \d+ items, due: /)
  t.equal(code, 1)
})

t.test('feed: an own message in it: found: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer) => {
    const verifying = (forum.seen.get('read') ?? 0) > 0
    if (operation !== 'feed' || !verifying) return answer
    const items = answer.body.notifications
    const own = { ...items.at(-1), seq: items.at(-1)?.seq + 1, message_id: 'msg_own' }
    return withItems(answer, [...items, own])
  }
  const { code, stdout } = await swarm(...small, '--url', forum.url)
  t.match(stdout, /the feed of agent-\d+, item \d+: .*msg_own.*, due: nothing/)
  t.equal(code, 1)
})

// Creates two threads by others. The reader follows the second, reads all of it, and then follows
// the first.
async function lateReader(t: Test, forum: FakeForum) {
  const by = (author: string, text: string) => ({ author, text })
  const plan = planOf(
    {
      fingerprint: '',
      discussions: [
        { thread: 1, title: 'first', messages: [by('ana', 'a'), by('reader', 'b')] },
        { thread: 2, title: 'second', messages: [by('ben', 'c'), by('reader', 'd')] },
      ],
    },
    'run-late',
  )
  const client = new Client({ url: forum.url, connections: 4, patienceMs: 20_000 })
  t.teardown(() => client.close())
  for (const agent of plan.agents) await introduce(client, agent, null)
  return { plan, client, feeds: new AgentFeeds(client, plan.agents) }
}

const pace = new Pace(null)
const inboxOf = (plan: Plan, feeds: AgentFeeds, name: string): Inbox =>
  feeds.inboxes[plan.agents.findIndex((agent) => agent.name === name)]

t.test('F1: an opening before the cursor: not due while gathering, due afterwards', async (t) => {
  const forum = await fakeForum(t)
  const { plan, client, feeds } = await lateReader(t, forum)
  const [first, second] = plan.threads
  const reader = inboxOf(plan, feeds, 'reader')
  const { others } = first
  first.others = []
  first.messages.splice(1)
  await publishThread({ ...plain, client, plan, feeds, pace }, first, () => {})
  await publishThread({ ...plain, client, plan, feeds, pace }, second, () => {})
  await feeds.drain(reader)
  await feeds.join(others[0], first)
  await feeds.drain(reader)

  const differences = new Differences()
  const shown = new Map()
  for (const thread of plan.threads) await verifyThread({ client, differences, shown }, thread)
  const due = dueFeed(reader.agent, shown, reader)
  t.equal(due.length, 2, 'both openings are due in the whole feed')
  t.equal(reader.gathered.length, 1, 'the earlier one was never gathered')
  t.ok(verifyGathered(differences, reader, due))
  t.same(differences.first, [])
})

t.test('F2: a poll under way: the agent subscribes after it, and not during one', async (t) => {
  const order: string[] = []
  const forum = await fakeForum(t, {
    answer: (operation, answer) => {
      order.push(operation)
      return answer
    },
  })
  const { plan, client, feeds } = await lateReader(t, forum)
  const [first, second] = plan.threads
  await publishThread({ ...plain, client, plan, feeds, pace }, first, () => {})
  const opened = { ...second, others: [], messages: second.messages.slice(0, 1) }
  await publishThread({ ...plain, client, plan, feeds, pace }, opened, () => {})
  second.id = opened.id

  const reader = inboxOf(plan, feeds, 'reader')
  order.length = 0
  await Promise.all([feeds.drain(reader), feeds.join(reader.agent, second)])
  t.same(order, ['feed', 'subscribe'])
  t.equal(reader.joinedAt.get(second), reader.cursor, 'the cursor after the poll')
})

t.test('F2: a subscription under way: the agent misses its turn to poll', async (t) => {
  const forum = await fakeForum(t)
  const { plan, client, feeds } = await lateReader(t, forum)
  const [first, second] = plan.threads
  await publishThread({ ...plain, client, plan, feeds, pace }, first, () => {})
  const opened = { ...second, others: [], messages: second.messages.slice(0, 1) }
  await publishThread({ ...plain, client, plan, feeds, pace }, opened, () => {})
  second.id = opened.id

  const reader = inboxOf(plan, feeds, 'reader')
  const joining = feeds.join(reader.agent, second)
  const polls = Array.from({ length: 70 }, () => feeds.pollSometimes())
  t.equal(feeds.inboxes.filter(({ polling }) => polling !== null).length, 2, 'the others poll')
  t.equal(reader.polling, null)
  await Promise.all([joining, ...polls])
})

function withItems(answer: Answer, items: Body[]): Answer {
  const next_after = items.at(-1)?.seq ?? answer.body.next_after
  return { ...answer, body: { ...answer.body, notifications: items, next_after } }
}
