// Goal:   whatever a forum gets wrong, the swarm reports it, and names the fault.
// Method: a forum that is correct except for one fault. A small run against it must end with exit
//         code 1 and name the fault. The same run against a forum without the fault ends with 0.

import t from 'tap'
import { planOf } from '../../../src/clients/swarm/plan.ts'
import { syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'
import { sampleOf } from '../../../src/clients/swarm/verify.ts'
import type { Answer, Body, Faults, Operation, Stored } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

// Changes the answers to one operation if they have the expected status.
const tamper =
  (operation: Operation, change: (body: Body) => void, status = 200) =>
  (requested: Operation, answer: Answer): Answer => {
    if (requested === operation && answer.status === status) change(answer.body)
    return answer
  }

// Changes what is stored of the third message.
const third =
  (change: (message: Stored) => Stored[]) =>
  (message: Stored, nth: number): Stored[] =>
    nth === 3 ? change(message) : [message]

const faulty: { what: string; faults: Faults; says: RegExp }[] = [
  {
    what: 'loses a message it acknowledged',
    faults: { keep: third(() => []) },
    says: /thread \d+, message \d+ of \d+ is (msg_\w+|missing), due: msg_\w+ by agent-/,
  },
  {
    what: 'loses the last message of each thread',
    faults: {
      answer: tamper('read', ({ messages, thread }) => {
        messages.pop()
        thread.message_count--
      }),
    },
    says: /next_after \d+, not the last item's seq/,
  },
  {
    what: 'keeps a message twice',
    faults: { keep: third((message) => [message, message]) },
    says: /message \d+ of \d+ is msg_\w+, due: /,
  },
  {
    what: 'changes one byte of a text',
    faults: {
      keep: third((message) => [{ ...message, content: message.content.replace(/e|a|o/, 'E') }]),
    },
    says: /its content differs at character \d+: "E/,
  },
  {
    what: 'composes a text that was sent decomposed',
    faults: {
      keep: (message) => [{ ...message, content: message.content.normalize('NFC') }],
    },
    says: /its content differs at character \d+: "á/,
  },
  {
    what: 'swaps two messages',
    faults: {
      answer: tamper('read', ({ messages }) => {
        if (messages.length > 2) messages.splice(0, 2, messages[1], messages[0])
      }),
    },
    says: /message 1 of \d+ is msg_\w+, due: msg_/,
  },
  {
    what: 'gives two messages the same id',
    faults: {
      keep: (message, nth) => {
        if (nth === 3 || nth === 4) message.id = 'msg_same'
        return [message]
      },
    },
    says: /has the id of another message, msg_same/,
  },
  {
    what: 'gives a message to another author',
    faults: { keep: third((message) => [{ ...message, author_id: 'agt_other' }]) },
    says: /its author is agt_other, due: agt_\w+/,
  },
  {
    what: 'shows another name',
    faults: { keep: third((message) => [{ ...message, display_name: 'somebody' }]) },
    says: /the display_name is somebody, due: agent-/,
  },
  {
    what: 'shows a guest as persistent',
    faults: { keep: (message) => [{ ...message, kind: 'persistent' }] },
    says: /the kind is persistent, due: guest/,
  },
  {
    what: 'lets seq stand still within a thread',
    faults: {
      answer: tamper('read', ({ messages }) => {
        if (messages.length > 2) messages[1].seq = messages[0].seq
      }),
    },
    says: /its seq is \d+, due: more than \d+/,
  },
  {
    what: 'shortens titles',
    faults: { answer: tamper('read', ({ thread }) => (thread.title = thread.title.slice(0, -1))) },
    says: /thread \d+: its title differs at character \d+: "" \(/,
  },
  {
    what: 'counts messages wrongly',
    faults: { answer: tamper('read', ({ thread }) => thread.message_count++) },
    says: /its message_count is \d+, due: \d+/,
  },
  {
    what: 'makes a public thread private',
    faults: { answer: tamper('read', ({ thread }) => (thread.visibility = 'private')) },
    says: /its visibility is private, due: public/,
  },
  {
    what: 'says that there is no more when there is',
    faults: {
      answer: tamper('read', (body) => {
        body.messages.length = Math.min(5, body.messages.length)
        body.next_after = body.messages.at(-1)?.seq
        body.has_more = false
      }),
    },
    says: /message 6 of \d+ is missing, due: msg_/,
  },
  {
    what: 'promises more without an end',
    faults: {
      answer: tamper('read', (body) => {
        body.has_more = true
      }),
    },
    says: /says there is more, but its cursor does not advance/,
  },
  {
    what: 'has lost a thread',
    faults: {
      refuse: (operation, nth) =>
        operation === 'read' && nth === 2 ? { status: 404, body: { error: 'not_found' } } : null,
    },
    says: /GET \/api\/threads\/thr_\w+\?\S+ answered 404 not_found/,
  },
  {
    what: 'answers bytes that are not UTF-8',
    faults: {
      answer: (operation, answer) => {
        if (operation !== 'read') return answer
        const bytes = Buffer.from(JSON.stringify(answer.body))
        bytes[bytes.indexOf('agent-')] = 0xff
        return bytes
      },
    },
    says: /with a body that is not UTF-8 JSON/,
  },
  {
    what: 'leaves a field out',
    faults: { answer: tamper('read', ({ messages }) => delete messages[0].kind) },
    says: /\/messages\/0 must have required property 'kind'/,
  },
  {
    what: 'forgets keys',
    faults: { forgetKeys: true },
    says: /thread 1, message 1 of \d+: POST \S+ with key swarm:\w+:0:0 answered 201 \(due: 200\)/,
  },
  {
    what: 'replays a message that is not the first answer',
    faults: { answer: tamper('reply', (body) => (body.message_id = 'msg_other')) },
    says: /its key replays msg_other, due: msg_/,
  },
  {
    what: 'does not mark a replay',
    faults: { answer: tamper('reply', (body) => (body.replayed = false)) },
    says: /answered 200 but its body contradicts the status/,
  },
]

t.test('verify: a forum without a fault: everything is identical: exit code 0', async (t) => {
  const forum = await fakeForum(t)
  const { code, stdout } = await swarm(...small, '--url', forum.url)
  t.match(stdout, '44 of 44 messages identical, in order, each once')
  t.match(stdout, '4 of 4 threads exact')
  t.match(stdout, /6 of 6 feeds exact, \d+ items, gathered/)
  t.match(stdout, /6 of 6 feeds exact, \d+ items, read from the beginning/)
  t.match(stdout, '44 of 44 keys replayed their first answer')
  t.match(stdout, /no difference\n$/)
  t.equal(code, 0)
})

for (const { what, faults, says } of faulty) {
  t.test(`verify: a forum that ${what}: is caught: exit code 1`, async (t) => {
    const forum = await fakeForum(t, faults)
    const { code, stdout } = await swarm(...small, '--url', forum.url)
    t.match(stdout, /\n[1-9]\d* differences?/)
    t.match(stdout, says)
    t.equal(code, 1)
  })
}

t.test('verify: many differences: all counted, the first ten shown', async (t) => {
  const forum = await fakeForum(t, {
    keep: (message) => [{ ...message, content: `${message.content} ` }],
  })
  const { stdout } = await swarm(...small, '--url', forum.url)
  t.match(stdout, /44 differences, the first 10:\n( {2}thread .*\n){10}$/)
  t.match(stdout, '0 of 44 messages identical')
})

t.test('verify: a replay that publishes again: duplicates are reported too', async (t) => {
  const forum = await fakeForum(t, { forgetKeys: true })
  const { stdout } = await swarm(...small, '--url', forum.url, '--replay-all')
  t.match(stdout, '0 of 44 keys replayed their first answer')
  t.match(stdout, '44 of 44 messages identical, in order\n', 'but not each once')
  t.match(stdout, '0 of 4 threads exact')
  t.match(stdout, /58 differences/, '44 keys, 4 counts, 4 threads too long, 6 feeds')
})

t.test('verify: keys of a large run: a spread sample, or all of them', async (t) => {
  const plan = planOf(syntheticCorpus('agents=3,threads=10,replies=2490'), 'run-0001')
  t.equal(sampleOf(plan, plan.messageCount).length, 2500)
  const sample = sampleOf(plan, 1000)
  t.equal(sample.length, 834)
  t.equal(new Set(sample.map(({ thread }) => thread)).size, 10)
})
