// Appends to the stream, whose answers the test gives or withholds.

import type { Msg, NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { Appends } from '../../../src/cluster/replication/jetstream/log.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'

type Callback = (error: Error | null, message: Pick<Msg, 'subject' | 'data' | 'json'>) => void

/** A connection without servers. */
class Unanswered {
  readonly replies: string[] = []
  isConnected = true
  #lose: () => void = () => {}
  readonly #callbacks: Callback[] = []

  subscribe(_: string, { callback }: { callback: Callback }) {
    this.#callbacks.push(callback)
    return { unsubscribe: () => {} }
  }

  publish(_subject: string, _bytes: Uint8Array, { reply }: { reply: string }): void {
    this.replies.push(reply)
  }

  answer(reply: string, answer: object): void {
    const data = Buffer.from(JSON.stringify(answer))
    const json = <T>() => answer as T
    for (const callback of this.#callbacks) callback(null, { subject: reply, data, json })
  }

  onLost(run: () => void): () => void {
    this.#lose = run
    return () => {}
  }

  lose(): void {
    this.isConnected = false
    this.#lose()
  }

  fail(error: Error): void {
    for (const callback of this.#callbacks) callback(error, null as never)
  }
}

t.test('appends: no answer in time: rejected, and what was sent later is awaited', async (t) => {
  const time = new VirtualTime(seededRandom(1), 0)
  time.enter()
  t.teardown(() => time.leave())
  const connection = new Unanswered()
  const appends = new Appends(connection as unknown as NatsConnection, connection, 'log')
  const outcomes: string[] = []
  const append = (name: string) =>
    appends.append(Buffer.from(name), {}).then(
      ({ seq }) => outcomes.push(`${name}: ${seq}`),
      ({ message }: Error) => outcomes.push(`${name}: ${message}`),
    )
  for (const name of ['first', 'second']) void append(name)
  await time.advance(3_000)
  void append('third')
  const [first, second, third] = connection.replies
  connection.answer(second!, { stream: 'log', seq: 2 })
  await time.advance(2_500)
  await settled()
  t.strictSame(outcomes, ['second: 2', 'first: timeout'])
  connection.answer(first!, { stream: 'log', seq: 1 })
  connection.answer(third!, { error: { code: 400, err_code: 10071, description: 'refused' } })
  await settled()
  t.strictSame(outcomes.slice(2), ['third: refused'])
  void append('fourth')
  await time.advance(4_000)
  connection.fail(new Error('permissions'))
  await settled()
  t.strictSame(outcomes.slice(3), ['fourth: permissions'])
  void append('fifth')
  await time.advance(7_000)
  await settled()
  t.strictSame(outcomes.slice(4), ['fifth: timeout'])
})

t.test('appends: the connection is lost: rejected at once, until there is one again', async (t) => {
  const connection = new Unanswered()
  const appends = new Appends(connection as unknown as NatsConnection, connection, 'log')
  const lost = ['first', 'second'].map((name) => appends.append(Buffer.from(name), {}))
  connection.lose()
  for (const append of lost) await t.rejects(append, { message: 'the connection was lost' })
  const unsent = appends.append(Buffer.from('third'), {})
  await t.rejects(unsent, { message: 'the connection was lost' })
  t.equal(connection.replies.length, 2, 'nothing is sent without a connection')
  connection.isConnected = true
  const answered = appends.append(Buffer.from('fourth'), {})
  connection.answer(connection.replies[2]!, { stream: 'log', seq: 1 })
  t.match(await answered, { seq: 1 })
})
