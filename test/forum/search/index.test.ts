// The index compared with a search that examines every message: the same hits in the same order,
// through removals, restarts and damage.

import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { type Engine, findEngine } from '../../../src/forum/search/engine.ts'
import { chosenSeed, sampleOf, sizeOf, timeoutMs } from '../../depth.ts'
import { flip } from '../../faults/flip.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { naiveSearch } from './index-model.ts'
import { perShard, Scene } from './index-scene.ts'

const rounds = sizeOf('SEARCH_ROUNDS')

const model = 'index: random messages, removals, restarts: finds what a look at every message does'
t.test(model, { timeout: timeoutMs }, async (t) => {
  for (let round = 0; round < rounds; round++) {
    const seed = chosenSeed + round
    const random = seededRandom(seed)
    await t.test(`index: seed ${seed}: the same hits in the same order`, async (t) => {
      const scene = new Scene(t, random)
      for (let step = 0; step < 40; step++) {
        const chance = random()
        if (chance < 0.4) scene.publish(Math.floor(random() * 60))
        else if (chance < 0.6) scene.remove()
        else if (chance < 0.7) scene.restart()
        else if (chance < 0.75) scene.crash()
        else if (chance < 0.8) for (let i = 0; i < 3; i++) scene.work()
        if (random() < 0.6) {
          scene.finish()
          t.equal(scene.index.covered, scene.messages.length)
          t.notOk(scene.index.isDirty, 'no removed text is left')
          scene.compare(t, 25)
        } else {
          removedAreHidden(t, scene)
        }
      }
      scene.index.close()
    })
  }
})

/** Checks that an index that is behind finds less, but never a removed or a private message. */
function removedAreHidden(t: Test, scene: Scene): void {
  for (let i = 0; i < 10; i++) {
    const search = { ...scene.randomSearch(), limit: 10_000 }
    const allowed = new Set(naiveSearch(scene.messages, search))
    const wrong = scene.find(search).filter((message) => !allowed.has(message))
    if (wrong.length > 0) t.same(wrong, [], JSON.stringify(search))
  }
}

/** Returns a scene with several sealed shards and one that is being built. */
function filled(t: Test): Scene {
  const scene = new Scene(t, seededRandom(1))
  scene.publish(perShard * 5 + 7)
  scene.finish()
  return scene
}

/** Has the files watched and checked as the index process does it, and rebuilds what is missing. */
function recover(scene: Scene): void {
  scene.index.watch()
  for (const _ of scene.index.check());
  scene.finish()
}

t.test('index: a shard that is sealed cannot be opened: leaves no file behind', async (t) => {
  const engine = Object.create(findEngine()!) as Engine
  let opens = true
  engine.open = (file) => {
    if (!opens && file.endsWith('.shard')) throw new Error('EMFILE: too many open files')
    return findEngine()!.open(file)
  }
  const scene = new Scene(t, seededRandom(1), engine)
  scene.publish(perShard)
  opens = false
  t.throws(() => scene.finish(), { message: /EMFILE/ })
  t.same(scene.files, [], 'an erasure would not reach it')
  opens = true
  scene.finish()
  scene.compare(t, 30)
})

const damages: Record<string, (file: string) => void> = {
  'a flipped byte at its beginning': (file) => flip(file, 20),
  'a flipped byte in its middle': (file) => flip(file, Math.floor(readFileSync(file).length / 2)),
  'a flipped byte at its end': (file) => flip(file, readFileSync(file).length - 1),
  'cut off': (file) => truncateSync(file, 5000),
  empty: (file) => truncateSync(file, 0),
  'without its file': (file) => rmSync(file),
  'another file': (file) => writeFileSync(file, 'something else'),
  'longer than it was': (file) => writeFileSync(file, 'more', { flag: 'a' }),
}

t.comment(`TEST_SEED=${chosenSeed}`)
for (const [what, damage] of sampleOf('SEARCH_DAMAGES', Object.entries(damages))) {
  t.test(`index: in use, each shard ${what}: is made again`, async (t) => {
    const scene = filled(t)
    for (const [i, name] of scene.files.entries()) {
      damage(path.join(scene.dir, name))
      recover(scene)
      t.equal(scene.damaged, i + 1, 'it is found')
      scene.compare(t, 30)
    }
    t.equal(scene.files.length, 5)
  })

  t.test(`index: at rest, each shard ${what}: is made again`, async (t) => {
    const scene = filled(t)
    for (let shard = 0; shard < 5; shard++) {
      scene.index.close()
      damage(path.join(scene.dir, scene.files.sort()[shard]!))
      scene.crash()
      recover(scene)
      scene.compare(t, 30)
      t.equal(scene.index.covered, scene.messages.length)
      // libsql keeps a file open until its statements are garbage-collected.
      if (findEngine()!.name === 'libsql') continue
      t.same(scene.removedFilesInUse, [], 'its space is free')
    }
  })
}

t.test(
  'index: a flip that leaves the time of change as it was: is found by the daily check',
  async (t) => {
    const scene = filled(t)
    const file = path.join(scene.dir, scene.files[2]!)
    recover(scene)
    flip(file, 9000)
    utimesSync(file, 1, 1)
    scene.index.watch()
    scene.index.checkAll()
    for (const _ of scene.index.check());
    t.equal(scene.damaged, 1)
    scene.finish()
    scene.compare(t, 50)
  },
)

t.test('index: in use, its whole directory removed: is made again', async (t) => {
  const scene = filled(t)
  rmSync(scene.dir, { recursive: true })
  recover(scene)
  scene.compare(t, 50)
  t.equal(scene.files.length, 5)
})

t.test('index: files of another forum, form or log: are removed', async (t) => {
  const scene = filled(t)
  scene.restart()
  scene.crash('another forum')
  t.same(scene.files, [])
  scene.crash()
  scene.finish()
  scene.compare(t, 20)

  scene.restart()
  const [name] = scene.files
  renameSync(
    path.join(scene.dir, name!),
    path.join(scene.dir, name!.replace('0000000000', '0000000080')),
  )
  scene.crash()
  recover(scene)
  scene.compare(t, 30)
})

t.test('index: shards of a tail that the log has no more: are removed', async (t) => {
  const scene = filled(t)
  scene.restart()
  scene.messages.length = perShard * 2
  scene.crash()
  t.equal(scene.files.length, 2, 'those of before the tail are kept')
  scene.publish(perShard)
  scene.finish()
  scene.compare(t, 50)
})

t.test(
  'index: after a removal: no file has the text, and the others are not touched',
  async (t) => {
    const scene = filled(t)
    const before = scene.files
    const { number, texts } = scene.messages[50]!
    texts[0] += ' removedsecretword'
    scene.remove()
    const hasSecret = () =>
      scene.files.some((name) => readFileSync(path.join(scene.dir, name)).includes('removedsecret'))
    // The shard is first rebuilt from the forum as it is now, so that the index contains the
    // secret.
    flip(path.join(scene.dir, before.sort()[1]!), 5000)
    recover(scene)
    t.ok(hasSecret())
    scene.messages[number]!.isRemoved = true
    scene.position += 1
    scene.erased = scene.position
    scene.index.remove(number, scene.position)
    scene.index.erased = scene.position
    t.ok(scene.index.isDirty)
    scene.finish()
    t.notOk(scene.index.isDirty)
    t.notOk(hasSecret())
    t.equal(scene.files.filter((name) => before.includes(name)).length >= 3, true)
  },
)

t.test('T3: removed messages are hidden, not gone: all others are found', async (t) => {
  const scene = filled(t)
  for (let n = 0; n < 40; n++) scene.remove()
  t.ok(scene.index.isDirty)
  for (let before = 5; before <= scene.messages.length; before += 5) {
    for (let author = 0; author < 5; author++) {
      const search = { all: [], none: [], author, caller: -1, before, limit: 2 }
      t.same(scene.find(search), naiveSearch(scene.messages, search))
    }
  }
})

t.test('T1, T2: a message is removed in each round: new ones are found, old ones go', async (t) => {
  const scene = new Scene(t, seededRandom(3))
  scene.publish(2 * perShard - 25)
  scene.finish()
  const [sealed] = scene.files
  for (let round = 0; round < 20; round++) {
    scene.publish(1)
    for (let i = 0; i < 2; i++) scene.work() // the ranges take turns
    t.equal(scene.index.covered, scene.messages.length)
    scene.remove()
    removedAreHidden(t, scene)
    scene.work()
  }
  t.notOk(scene.files.includes(sealed!), 'a file without the first removed ones replaced it')
  scene.finish()
  t.notOk(scene.index.isDirty)
  scene.compare(t, 30)
  scene.restart()
  scene.finish()
  scene.compare(t, 30)
})

t.test('index: started again after a removal: a shard that reflects it stays', async (t) => {
  const scene = filled(t)
  scene.remove()
  scene.finish()
  const before = scene.files
  scene.restart()
  t.notOk(scene.index.isDirty)
  scene.finish()
  t.same(scene.files, before)
})

t.test('index: in a directory that cannot be made: throws, and goes on when it can', async (t) => {
  const scene = new Scene(t, seededRandom(2))
  scene.publish(perShard * 2)
  rmSync(scene.dir, { recursive: true })
  closeSync(openSync(scene.dir, 'w')) // a file stands in the place of the directory
  t.throws(() => scene.finish())
  rmSync(scene.dir)
  scene.finish()
  scene.compare(t, 30)
})
