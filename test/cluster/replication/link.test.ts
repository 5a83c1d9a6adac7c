// The link to the servers, over a connection that the test breaks and restores.

import type { NatsConnection, Status } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { ServerLink } from '../../../src/cluster/replication/jetstream/link.ts'
import { StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'

/** A connection whose state the test sets. */
class Scripted {
  #say: (type: string | null) => void = () => {}

  say(type: 'disconnect' | 'reconnect' | null): void {
    this.#say(type)
  }

  async *status(): AsyncGenerator<Status> {
    for (;;) {
      const type = await new Promise<string | null>((resolve) => {
        this.#say = resolve
      })
      if (type === null) return
      yield { type } as Status
    }
  }
}

async function scripted(t: Test) {
  const time = new VirtualTime(seededRandom(1), 0)
  time.enter()
  t.teardown(() => time.leave())
  const connection = new Scripted()
  const link = new ServerLink(connection as unknown as NatsConnection)
  await settled()
  const say = async (type: 'disconnect' | 'reconnect' | null) => {
    connection.say(type)
    await settled()
  }
  return { time, link, say }
}

const never = () => new Promise<string>(() => {})

/** The outcome of a call so far. */
function outcomeOf(call: Promise<string>): { value: string } {
  const outcome = { value: 'waiting' }
  call.then(
    (answer) => {
      outcome.value = answer
    },
    (error: Error) => {
      outcome.value = `${error instanceof StreamUnavailable} ${error.message}`
    },
  )
  return outcome
}

t.test('link: lost while calls are under way: both are given up at once', async (t) => {
  const { link, say } = await scripted(t)
  const [call, question] = [
    outcomeOf(link.available(never)),
    outcomeOf(link.availableRepeated(never)),
  ]
  await settled()
  t.equal(call.value, 'waiting')
  await say('disconnect')
  t.equal(call.value, 'true the stream: the connection was lost')
  t.equal(question.value, 'true the stream: the connection was lost')
})

t.test('link: lost: what is called waits for the next connection, or five seconds', async (t) => {
  const { time, link, say } = await scripted(t)
  await say('disconnect')
  t.equal(link.isConnected, false)
  let calls = 0
  const call = async () => `call ${++calls}`
  const late = outcomeOf(link.available(call))
  await time.advance(5_001)
  await settled()
  t.equal(late.value, 'true the stream: not connected')
  const [one, two] = [outcomeOf(link.available(call)), outcomeOf(link.availableRepeated(call))]
  await time.advance(4_000)
  await settled()
  t.strictSame([one.value, two.value, calls], ['waiting', 'waiting', 0])
  await say('reconnect')
  t.strictSame([one.value, two.value, calls], ['call 1', 'call 2', 2])
})

t.test('link: a question without an answer: asked again until one is answered', async (t) => {
  const { time, link } = await scripted(t)
  let asked = 0
  const question = outcomeOf(
    link.availableRepeated(() => (++asked < 3 ? never() : Promise.resolve('answer'))),
  )
  await settled()
  await time.advance(1_001)
  await settled()
  t.strictSame([question.value, asked], ['waiting', 2])
  await time.advance(1_001)
  await settled()
  t.strictSame([question.value, asked], ['answer', 3])
  await time.advance(3_000)
  t.equal(asked, 3, 'and not after that')
})

t.test('link: closed: who waits for a connection is told, and who comes later', async (t) => {
  const { link, say } = await scripted(t)
  await say('disconnect')
  const waiting = outcomeOf(link.available(never))
  await say(null)
  t.equal(waiting.value, 'true the stream: not connected')
  const late = outcomeOf(link.available(never))
  await settled()
  t.equal(late.value, 'true the stream: not connected')
})
