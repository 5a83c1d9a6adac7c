// Turns: writes a few at a time, the event loop in between.

import t from 'tap'
import { Turns } from '../../src/http/turns.ts'

t.test('W1: many jobs: run in order, a few in a turn, flushed after each few', async (t) => {
  const ran: number[] = []
  const flushedAt: number[] = []
  const turns = new Turns(() => flushedAt.push(ran.length))
  for (let job = 0; job < 40; job++) turns.add(() => ran.push(job))
  t.same(ran, [], 'nothing runs before the turn ends')
  while (ran.length < 40) await new Promise((resolve) => setImmediate(resolve))
  t.same(
    ran,
    Array.from({ length: 40 }, (_, job) => job),
  )
  t.same(flushedAt, [16, 32, 40])
})

t.test('turns: finishing: what waits runs now, and never again', async (t) => {
  const ran: string[] = []
  const turns = new Turns(() => {})
  turns.add(() => ran.push('first'))
  turns.finish()
  t.same(ran, ['first'])
  turns.add(() => ran.push('second'))
  await new Promise((resolve) => setImmediate(resolve))
  t.same(ran, ['first', 'second'])
})
