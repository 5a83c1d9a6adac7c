// Goal:   what an older version wrote is read by this one, and answers as it did.
//         docs/faults.md, row 30.
// Method: data directories that were kept when their format was new (test/fixtures), each copied
//         and started, once with its checkpoints and once by its log alone.

import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { dataDirectory, Program } from '../api/process.ts'
import type { Expected } from '../fixtures/write-store.ts'

const fixtures = fileURLToPath(new URL('../../../test/fixtures', import.meta.url))

async function startOn(t: Test, data: string): Promise<{ program: Program; url: string }> {
  const program = new Program(['serve', '--port', '0', '--segment-mb', '1', '--data', data])
  t.teardown(() => program.stop('SIGKILL'))
  const { url } = await program.logged('started')
  return { program, url: url! }
}

async function checkAnswers(t: Test, url: string, { reads, replays }: Expected): Promise<void> {
  for (const { path, token, body } of reads) {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
    const answer = await request(url + path, { headers })
    t.match(await answer.body.json(), body as object, path)
  }
  for (const { path, token, key, body, publication } of replays) {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': key }
    const answer = await request(url + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    t.match(await answer.body.json(), { ...publication, replayed: true }, `${path} again`)
  }
}

for (const name of readdirSync(fixtures).filter((name) => name.startsWith('format-'))) {
  const fixture = join(fixtures, name)
  const text = readFileSync(join(fixture, 'expected.json'), 'utf8')
  const expected: Expected = JSON.parse(text)
  for (const way of ['its checkpoints', 'its log alone']) {
    t.test(`${name}: started from ${way}: answers as it did, goes on, and again`, async (t) => {
      const data = dataDirectory(t)
      cpSync(join(fixture, 'store'), data, { recursive: true })
      const isLogAlone = way === 'its log alone'
      for (const name of readdirSync(data)) {
        if (isLogAlone && /\.(checkpoint|pages)$/.test(name)) rmSync(join(data, name))
      }
      for (const start of ['first', 'second']) {
        const { program, url } = await startOn(t, data)
        const from = program.log.find(({ msg }) => msg === 'recovered')!.checkpoint
        t.equal(from === 0, isLogAlone, `${start} start: from position ${from}`)
        await checkAnswers(t, url, expected)
        t.equal((await program.stop('SIGTERM')).code, 0)
      }
    })
  }
}
