import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../../src/base/arguments.ts'
import {
  adoptEpoch,
  beginEpochAt,
  deriveKey,
  loadEpoch,
  loadSecret,
} from '../../../src/engine/storage/node-files.ts'
import { realDisk } from '../../../wal/disk.ts'

const placeOf = (dir: string) => ({ disk: realDisk, dir })

function directory(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-secret-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return dir
}

t.test(
  'S2: secret: none yet: made: readable by its owner only, nothing else is left',
  async (t) => {
    const dir = directory(t)
    const secret = loadSecret(placeOf(dir), undefined)
    t.match(secret, /^[0-9a-f]{64}$/)
    t.same(readdirSync(dir), ['secret'])
    t.equal(statSync(join(dir, 'secret')).mode & 0o777, 0o600)
    t.equal(readFileSync(join(dir, 'secret'), 'utf8').trim(), secret)
    t.equal(loadSecret(placeOf(dir), undefined), secret, 'a second start has the same')
    t.not(loadSecret(placeOf(directory(t)), undefined), secret, 'another directory has another')
  },
)

t.test('S2: secret: a start died while making it: the next one makes it', async (t) => {
  const dir = directory(t)
  writeFileSync(join(dir, 'secret.tmp'), 'half a sec')
  const secret = loadSecret(placeOf(dir), undefined)
  t.match(secret, /^[0-9a-f]{64}$/)
  t.same(readdirSync(dir), ['secret'])
})

t.test('secret: from the environment: it wins, and nothing is written', async (t) => {
  const dir = directory(t)
  const given = 'g'.repeat(32)
  t.equal(loadSecret(placeOf(dir), given), given)
  t.same(readdirSync(dir), [])
})

t.test('secret: shorter than 32 characters: in the file: refused, and named', async (t) => {
  const dir = directory(t)
  const tooShort = 's'.repeat(31)
  writeFileSync(join(dir, 'secret'), tooShort)
  t.throws(
    () => loadSecret(placeOf(dir), undefined),
    new ConfigError(`${join(dir, 'secret')} must hold at least 32 characters`),
  )
})

t.test('secret: its file cannot be read: refused as a storage failure', async (t) => {
  const dir = directory(t)
  mkdirSync(join(dir, 'secret'))
  t.throws(() => loadSecret(placeOf(dir), undefined), { exitCode: 74, message: /secret: EISDIR/ })
})

t.test('S1: keys: of each purpose and secret: 32 bytes, and all different', async (t) => {
  const secrets = ['a'.repeat(32), 'b'.repeat(32)]
  const purposes = ['ticket', 'webhook', 'address'] as const
  const keys = secrets.flatMap((secret) => purposes.map((purpose) => deriveKey(secret, purpose)))
  for (const key of keys) t.equal(key.length, 32)
  t.equal(new Set(keys.map((key) => key.toString('hex'))).size, keys.length)
  t.same(deriveKey(secrets[0], 'ticket'), keys[0], 'the same each time')
})

t.test('epoch: begun by a restored backup, or adopted: the same at each start', async (t) => {
  const store = '5'.repeat(32)
  const [first, restored, joined] = [1, 2, 3].map(() => placeOf(directory(t)))
  t.same(loadEpoch(first!, store), { id: store, begin: null, isOwn: false })
  beginEpochAt(restored!, 7)
  const epoch = loadEpoch(restored!, store)
  t.match(epoch, { id: /^[0-9a-f]{32}$/, begin: 7, isOwn: true })
  adoptEpoch(joined!, { store, epoch: epoch.id, epochBegin: epoch.begin })
  for (let start = 2; start <= 3; start++) {
    t.same(loadEpoch(restored!, store), epoch, `start ${start}`)
    t.same(loadEpoch(joined!, store), { ...epoch, isOwn: false })
  }
})

t.test('epoch: adopted, but its log was never fetched: no other log has it', async (t) => {
  const [store, other] = ['5'.repeat(32), '6'.repeat(32)] as const
  const place = placeOf(directory(t))
  const adopted = { store, epoch: 'e'.repeat(32), epochBegin: 7 }
  adoptEpoch(place, adopted)
  t.same(loadEpoch(place, other), { id: other, begin: null, isOwn: false }, 'of its own')
  adoptEpoch(place, { store, epoch: store, epochBegin: null })
  t.same(
    loadEpoch(place, store),
    { id: store, begin: null, isOwn: false },
    'the first of its store',
  )
})
