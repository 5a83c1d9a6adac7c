// Goal:   a node that is killed before or after any durable step loses nothing that it acknowledged
//         or showed, keeps nothing half, and starts again by itself.
// Method: a real process per crash point, one after the other on one data directory. Agents work
//         until it is dead; they remember what was answered, what was shown, and what they do not
//         know the outcome of. The next start is compared with that, and the unknown is tried again
//         with its key. At the end a dry run tells all kinds of steps: each must have a point here.
//         `npm test` takes a few points by a seed that it prints, `npm run test:deep` takes all.
// Leaves out: loss of power, which no process can do to itself; test/simulate has that.

import { join } from 'node:path'
import t from 'tap'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import type { CrashPoint } from './crash-disk.ts'
import { Scene } from './crash-scene.ts'

/** Kinds of steps, and which of that kind is not survived. */
const kinds: Record<string, number> = {
  'create lock': 1,
  'write lock': 1,
  'link lock': 1,
  'rename lock': 1,
  'remove lock': 1,
  'truncate segment': 1,
  'rename segment': 1,
  'create spare': 1,
  'write spare': 2,
  'rename spare': 1,
  'sync spare': 1,
  'remove spare': 1,
  'sync directory': 2,
  'write segment': 4,
  'sync segment': 3,
  'create pages': 1,
  'write pages': 2,
  'sync pages': 1,
  'rename pages': 1,
  'create parity': 1,
  'write parity': 2,
  'sync parity': 1,
  'rename parity': 1,
  'create manifest': 1,
  'write manifest': 1,
  'sync manifest': 1,
  'rename manifest': 1,
  'remove manifest': 1,
  'remove pages': 1,
  'remove parity': 1,
  'remove segment': 1,
  'send wakeup': 2,
}

/** Further steps that are worth a point: in the life of a log, not at its start. */
const further: CrashPoint[] = [
  { when: 'after', kind: 'rename spare', nth: 3 },
  { when: 'before', kind: 'sync directory', nth: 5 },
  { when: 'after', kind: 'write segment', nth: 20 },
  { when: 'before', kind: 'sync segment', nth: 20 },
]

/** Leaves a file behind that the next start removes. */
const halfMade: CrashPoint = { when: 'before', kind: 'sync spare', nth: 1 }

/** Points that are visited one after the other, or not at all. */
const groups: CrashPoint[][] = [
  ...Object.entries(kinds).map(([kind, nth]) => {
    const before: CrashPoint = { when: 'before', kind, nth }
    const after: CrashPoint = { when: 'after', kind, nth }
    if (kind === 'remove spare') return [halfMade, before, halfMade, after]
    // Between a creation and the write after it nothing is decided.
    return kind.startsWith('create') ? [] : [before, after]
  }),
  ...further.map((point) => [point]),
]

/** A wakeup that is lost is among them always: that it is sent again is seen at the end. */
function sampleOf(all: readonly CrashPoint[][], count: number, random: () => number) {
  const isWakeup = ([point]: CrashPoint[]) => point?.kind === 'send wakeup'
  const rest = all.filter((group) => !isWakeup(group)).map((group) => ({ group, at: random() }))
  rest.sort((a, b) => a.at - b.at)
  const chosen = new Set(all.filter(isWakeup))
  for (const { group } of rest) {
    if ([...chosen].flat().length < count) chosen.add(group)
  }
  return all.filter((group) => chosen.has(group)).flat()
}

const points = sampleOf(groups, sizeOf('CRASH_POINTS'), seededRandom(chosenSeed))

t.setTimeout(timeoutMs)
t.comment(`TEST_SEED=${chosenSeed} chose ${points.length} of ${groups.flat().length} points`)

t.test('a node: killed at each crash point: nothing that it said is lost', async (t) => {
  const scene = new Scene(join(t.testdir(), 'data'))
  t.teardown(() => scene.kill())
  for (const point of points) {
    const name = `${point.when} ${point.kind} ${point.nth}`
    let isReached = false
    // Some steps come only at a start after a kill.
    for (let tries = 0; tries < 3 && !isReached; tries++) {
      if (await scene.start(point)) {
        t.same(await scene.differences(), [], `${name}: as it was before`)
        await scene.act()
      }
      isReached = await scene.diesAlone(point.kind === 'remove lock' ? 'SIGTERM' : null)
    }
    t.ok(isReached, `${name}: it was killed there`)
  }
  t.ok(await scene.start(null), 'it starts again')
  t.same(await scene.differences(), [], 'in the end all is there')
  await scene.act()
  const deliveries = await scene.delivered()
  t.ok(deliveries.length > 0, `${deliveries.length} deliveries, ${scene.wakeups.length} wakeups`)
  const ids = new Set(scene.wakeups.map(({ eventId }) => eventId))
  const ranges = new Set(scene.wakeups.map(({ after, through }) => `${after}-${through}`))
  t.equal(ids.size, ranges.size, 'what was sent again has the same id')
  t.ok(scene.wakeups.length > ids.size, 'something was sent again')
  await scene.stop()
  const missing = Object.keys(scene.steps).filter((kind) => kinds[kind] === undefined)
  t.same(missing, [], 'each kind of step has its points')
})
