import t from 'tap'
import { DiskSpace } from '../../../src/operators/ops/disk-space.ts'

const [minuteMs, hourMs] = [60_000, 3_600_000]
const gib = 2 ** 30

t.test(
  'disk space: a disk that fills up: when it is full at the rate of the last day',
  async (t) => {
    const space = new DiskSpace()
    const see = (atMs: number, freeBytes: number) => {
      space.observe({ atMs, freeBytes })
      return space.fullInSeconds
    }
    t.equal(see(0, 100 * gib), null)
    t.equal(see(9 * minuteMs, 99 * gib), null, 'too early to say')
    t.equal(see(10 * minuteMs, 99 * gib), 99 * 600)
    t.equal(see(hourMs, 100 * gib), null, 'as much is free as before')
    t.equal(see(24 * hourMs, 52 * gib), (52 * 24 * 3600) / 48)
    t.equal(see(25 * hourMs, 99 * gib), 99 * 24 * 3600, 'the day begins an hour later')
    t.equal(space.freeBytes, 99 * gib)
  },
)

t.test('disk space: watched: that of the file system; of nothing: unknown', async (t) => {
  const [space, none] = [new DiskSpace(), new DiskSpace()]
  const ends = [space.watch(t.testdir(), () => 0), none.watch('/no/such', () => 0)]
  while (space.freeBytes === null) await new Promise((resolve) => setTimeout(resolve, 5))
  t.ok(space.freeBytes > 0)
  t.equal(none.freeBytes, null)
  for (const end of ends) end()
})
