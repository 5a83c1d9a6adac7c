// Goal:   a node that is killed before or after any durable step loses nothing that it acknowledged
//         or showed, keeps no incomplete write, and starts again without help.
// Method: one real process for each crash point, one after the other on one data directory. Agents
//         work until the process is dead and remember what was answered, what was shown, and which
//         writes have an unknown outcome. The next process is compared with that, and unknown
//         writes are retried with their keys. A last run without a crash point lists all kinds of
//         steps: each must have a point here. `npm test` takes a few points, chosen by a seed that
//         it prints; `npm run test:deep` takes all.
// Leaves out: loss of power, which a process cannot cause; test/simulate covers it.

import { join } from 'node:path'
import t from 'tap'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import type { CrashPoint } from './crash-disk.ts'
import { Scene } from './crash-scene.ts'

/** For each kind of step, the ordinal of the step at which the process dies. */
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

/** Further crash points, later in the life of a log. */
const further: CrashPoint[] = [
  { when: 'after', kind: 'rename spare', nth: 3 },
  { when: 'before', kind: 'sync directory', nth: 5 },
  { when: 'after', kind: 'write segment', nth: 20 },
  { when: 'before', kind: 'sync segment', nth: 20 },
  // The second page file of a checkpoint holds the text.
  ...['write pages', 'sync pages', 'rename pages', 'write parity', 'sync parity', 'rename parity']
    .map((kind) => ({ kind, nth: kind.startsWith('write parity') ? 5 : 2 }))
    .flatMap((point): CrashPoint[] => [
      { when: 'before', ...point },
      { when: 'after', ...point },
    ]),
]

/** A crash that leaves a spare segment behind, which the next start removes. */
const halfMade: CrashPoint = { when: 'before', kind: 'sync spare', nth: 1 }

/** Each group is run as a whole and in order, or not at all. */
const groups: CrashPoint[][] = [
  ...Object.entries(kinds).map(([kind, nth]) => {
    const before: CrashPoint = { when: 'before', kind, nth }
    const after: CrashPoint = { when: 'after', kind, nth }
    if (kind === 'remove spare') return [halfMade, before, halfMade, after]
    // A file that was only created is empty: its first write has the crash points.
    return kind.startsWith('create') ? [] : [before, after]
  }),
  ...further.map((point) => [point]),
]

/**
 * Draws a sample that always includes the lost wakeup, because the test ends by checking that the
 * wakeup is sent again.
 */
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

t.test('a node: killed at each crash point: nothing acknowledged or shown is lost', async (t) => {
  const scene = new Scene(join(t.testdir(), 'data'))
  t.teardown(() => scene.kill())
  for (const point of points) {
    const name = `${point.when} ${point.kind} ${point.nth}`
    let isReached = false
    // Some steps happen only at the start that follows a kill.
    for (let tries = 0; tries < 3 && !isReached; tries++) {
      if (await scene.start(point)) {
        t.same(await scene.differences(), [], `${name}: as before the crash`)
        await scene.act()
      }
      isReached = await scene.diesAlone(point.kind === 'remove lock' ? 'SIGTERM' : null)
    }
    t.ok(isReached, `${name}: the process died there`)
  }
  t.ok(await scene.start(null), 'it starts again')
  t.same(await scene.differences(), [], 'everything is there in the end')
  await scene.act()
  const deliveries = await scene.delivered()
  t.ok(deliveries.length > 0, `${deliveries.length} deliveries, ${scene.wakeups.length} wakeups`)
  const ids = new Set(scene.wakeups.map(({ eventId }) => eventId))
  const ranges = new Set(scene.wakeups.map(({ after, through }) => `${after}-${through}`))
  t.equal(ids.size, ranges.size, 'what was sent again has the same id')
  t.ok(scene.wakeups.length > ids.size, 'something was sent again')
  await scene.stop()
  const missing = Object.keys(scene.steps).filter((kind) => kinds[kind] === undefined)
  t.same(missing, [], 'each kind of step has crash points')
})
