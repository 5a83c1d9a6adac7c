import t from 'tap'
import { randomSeed, systemStamps } from '../../src/kernel/stamp.ts'

t.test('ids: more than one pool of them: 128 bits in hex, all different', async (t) => {
  const stamps = systemStamps()
  const ids = Array.from({ length: 1500 }, () => stamps.id())
  t.equal(new Set(ids).size, 1500)
  t.ok(ids.every((id) => /^[0-9a-f]{32}$/.test(id)))
  t.ok(new Set(ids.map((id) => id.slice(0, 8))).size > 1490, 'the first word is random too')
})

t.test('tokens: two: 256 bits in hex, different', async (t) => {
  const stamps = systemStamps()
  const tokens = [stamps.token(), stamps.token()]
  for (const token of tokens) t.match(token, /^aic_[0-9a-f]{64}$/)
  t.not(tokens[0], tokens[1])
})

t.test('seed: drawn: an unsigned number of 32 bits', async (t) => {
  const seeds = Array.from({ length: 100 }, randomSeed)
  t.ok(seeds.every((seed) => seed === seed >>> 0))
  t.ok(new Set(seeds).size > 90)
})

t.test("clock: read: the system's clock, and the time elapsed", async (t) => {
  let wall = 1_790_000_000_000
  let elapsed = 0
  t.intercept(Date, 'now', { value: () => wall })
  t.intercept(performance, 'now', { value: () => elapsed })
  const { clock } = systemStamps()
  t.same([clock.wall(), clock.now(0)], [wall, wall])
  const recorded = wall
  wall -= 3_600_000
  elapsed += 50_000
  t.same([clock.wall(), clock.now(recorded)], [wall, recorded + 48_000])
})
