// Goal:   a node whose system clock jumps ahead and back keeps serving. Its times still increase,
//         and the operator sees the jump in the log, at /readyz and in the metrics, also after a
//         restart.
// Method: the real program with Debian's libfaketime preloaded, which reads the offset of the
//         system clock from a file. The monotonic clock is not changed. Where the library is not
//         installed, the test is skipped and says so.
// Leaves out: the durations of limits, retries and tickets; test/kernel/clock.test.ts covers them.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Forum, publishedThread } from '../api/harness.ts'
import { ask, sample } from '../api/operators.ts'
import { dataDirectory } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { newClock } from './node-clock.ts'

const dayMs = 24 * 3_600_000

/** Publishes until a message has a time other than `at`, and returns that time. */
async function publishedAfter(forum: Forum, publish: () => Promise<number>, at: number) {
  for (let tries = 0; tries < 500; tries++) {
    const time = await publish()
    if (time !== at) return time
    await sleep(2)
  }
  throw new Error(`the time stays ${at}:\n${forum.log}`)
}

t.test('a node: its clock jumps a day ahead and back: times grow, it is reported', async (t) => {
  const clock = newClock(t)
  if (clock === null) return t.comment('skipped: needs libfaketime')
  const data = dataDirectory(t)
  const port = await freePort()
  const forum = new Forum(data, ['--ops-port', `${port}`])
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  Object.assign(forum.environment, clock.environment)
  await forum.start()
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  const publish = async () => {
    await ana.reply(thread)
    const { body } = await ana.read(thread, '?limit=100')
    return body.messages.at(-1)!.created_at
  }
  const begin = await publish()
  clock.set(dayMs / 1000)
  const ahead = await publish()
  t.ok(ahead >= begin + dayMs, 'the clock is ahead')
  t.match(await ask(port, '/readyz'), { status: 200, text: 'ok\n' })

  clock.set(0)
  const back = await publish()
  t.ok(back >= ahead && back < ahead + dayMs / 2)
  const later = await publishedAfter(forum, publish, back)
  t.ok(later > back, 'it does not stand still')
  const seen = (event: string) =>
    forum.log.split('\n').find((line) => line.includes(event) && line.includes('"level":40'))
  t.match(seen('clock_stepped_ahead'), /"ms":86[34]\d{5}\b/, 'logged as a warning')
  t.match(seen('clock_stepped_back'), /"ms":86[34]\d{5}\b/)
  await showsDifference(t, port)

  await forum.stop()
  await forum.start()
  t.match(seen('clock_behind'), /"ms":86[34]\d{5}\b/, 'after a restart')
  await showsDifference(t, port)
  const restarted = await publish()
  t.ok(restarted >= later && restarted < later + dayMs / 2)
  t.ok((await publishedAfter(forum, publish, restarted)) > restarted)
})

/** Checks that operators see a system clock that is nearly a day behind. */
async function showsDifference(t: Test, port: number) {
  const { status, text } = await ask(port, '/readyz?verbose')
  t.equal(status, 200)
  t.match(text, /^\[-\] clock: 86[34]\d\d s behind the forum's time/m)
  const behind = await sample(port, 'agent_forum_clock_behind_seconds')
  t.ok(behind > 86_000 && behind <= 86_400, `${behind} s`)
}
