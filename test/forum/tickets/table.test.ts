import t from 'tap'
import { noMessage } from '../../../src/forum/tickets/machine.ts'
import { Tickets } from '../../../src/forum/tickets/table.ts'

const lifetime = 120

t.test('tickets: two of them: one is used: it alone has a message', async (t) => {
  const tickets = new Tickets()
  for (const nonce of ['a', 'b']) tickets.issue(nonce, lifetime, 0)
  t.same([tickets.has('a'), tickets.has('c')], [true, false])
  tickets.use('a', 17, 5)
  t.same(
    ['a', 'b', 'c'].map((nonce) => tickets.message(nonce)),
    [17, noMessage, noMessage],
  )
})

t.test(
  'E1: tickets: some have expired: another is issued: exactly those are forgotten',
  async (t) => {
    const tickets = new Tickets()
    for (let at = 0; at < 5; at++) tickets.issue(`n${at}`, at + lifetime, at)
    tickets.use('n1', 17, 5)
    tickets.issue('late', 2 * lifetime, lifetime + 2)
    t.same(
      [0, 1, 2, 3, 4].map((at) => tickets.has(`n${at}`)),
      [false, false, false, true, true],
    )
    t.ok(tickets.has('late'))
  },
)

t.test('E2: tickets: a hundred lifetimes: no more are kept than in one', async (t) => {
  const tickets = new Tickets()
  let most = 0
  for (let at = 0; at < 100 * lifetime; at++) {
    tickets.issue(`n${at}`, at + lifetime, at)
    most = Math.max(most, tickets.count)
  }
  t.equal(most, lifetime)
  t.ok(tickets.has(`n${100 * lifetime - lifetime}`), 'the oldest that is valid')
})
