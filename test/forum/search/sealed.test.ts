// Goal:   damage to an index file in use costs work, but only callers who search meanwhile notice
//         it: the results are correct, and in the end they are complete.
// Method: the real program, with more messages than a shard has; its sealed file is flipped, cut
//         off, removed and exchanged while the program runs, and while its index process is killed.

import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { populate } from '../../../bench/population.ts'
import { shardMessages } from '../../../src/forum/search/shard.ts'
import { dataDirectory } from '../../api/process.ts'
import { chosenSeed, sampleOf, timeoutMs } from '../../depth.ts'
import { flip } from '../../faults/flip.ts'
import { until } from '../../until.ts'
import { findAll, indexed, searchedForum } from './forum.ts'

t.setTimeout(timeoutMs)

const messages = shardMessages + 2_000
/** Messages of the sealed shard, at its beginning, within it and at its end, and later ones. */
const looked = [1_000, 60_000, shardMessages - 1, shardMessages, messages - 1]

const damages: Record<string, (file: string) => void> = {
  'flipped at its beginning': (file) => flip(file, 30),
  'flipped within': (file) => flip(file, Math.floor(readFileSync(file).length / 2)),
  'cut off': (file) => truncateSync(file, 9_000),
  empty: (file) => truncateSync(file, 0),
  removed: (file) => rmSync(file),
  exchanged: (file) => {
    writeFileSync(`${file}.other`, readFileSync(file).fill(7, 100, 5_000))
    renameSync(`${file}.other`, file)
  },
}

t.test('search: a sealed file is damaged while the node runs: made again', async (t) => {
  const data = dataDirectory(t)
  await populate(data, { identities: 20, threads: 100, messages, contentBytes: 60 })
  const forum = await searchedForum(t, [], { data })
  const dir = path.join(data, 'search')
  const sealed = () => readdirSync(dir).filter((name) => name.endsWith('.shard'))
  const isComplete = async (what: string) => {
    await indexed(forum)
    for (const n of looked) t.equal((await findAll(forum.anonymous, `${n} quick`)).length, 1, what)
    t.equal(sealed().length, 1, what)
  }
  await isComplete('at first')
  let count = 0
  t.comment(`TEST_SEED=${chosenSeed}`)
  for (const [what, damage] of sampleOf('SEARCH_DAMAGES', Object.entries(damages))) {
    damage(path.join(dir, sealed()[0]!))
    count += 1
    await until(`"${what}" to be found out`, () => {
      return forum.log.match(/"msg":"search_damaged"/g)?.length === count
    })
    t.equal((await forum.anonymous.get('/api/threads?limit=1')).status, 200)
    // The results meanwhile are correct, if not complete.
    for (const text of await findAll(forum.anonymous, 'quick 131071 brown')) {
      t.match(text, /^131071 The quick brown/)
    }
    await isComplete(what)
  }
  await forum.stop()
})
