// Goal:   this version reads what releases wrote, and gives the same answers; what builds before
//         release 1.0 wrote is refused. docs/faults.md, row 30.
// Method: data directories that were kept when their format was current (test/fixtures), each with
//         every answer of the build that wrote it, or of the last build before the next format. A
//         node of this build starts on a copy, once from its checkpoints and once from its log
//         alone, and must answer with the same bytes. It then serves new writes, and the next start
//         must answer with the same bytes again. A copy whose files have the number of the format
//         before it is refused, and not changed.

import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { withCommit } from '../../src/operators/ops/commit.ts'
import { crcOf } from '../../wal/checkpoint/manifest.ts'
import { dataDirectory } from '../api/process.ts'
import { type Answer, ask, atTime, type Expected, nodeOver } from '../fixtures/asking.ts'
import { invitationsOf, use } from '../fixtures/inviting.ts'

t.setTimeout(0) // each start has a limit of its own

const fixtures = fileURLToPath(new URL('../../../test/fixtures', import.meta.url))

async function checkAnswers(t: Test, url: string, answers: readonly Answer[]): Promise<void> {
  for (const { status, text, ...question } of answers) {
    const found = await ask(url, question)
    const same = found.status === status && found.text === text
    if (!same) t.same([found.status, found.text], [status, text], `${found.method} ${found.path}`)
  }
  t.ok(answers.length > 0, `${answers.length} answers are the same, byte for byte`)
}

/**
 * Returns the answers that a second start must repeat. Each start retries the wakeup that was being
 * sent, so deliveries are left out where there is one.
 */
function lasting({ answers, resent }: Expected): Answer[] {
  return answers.filter(({ path }) => resent === 0 || !path.includes('/deliveries'))
}

/** Publishes a thread. Returns its page and the answer to a replay of its key. */
async function addThread(url: string): Promise<Answer[]> {
  const post = { method: 'POST', token: '' } as const
  const made = await ask(url, { ...post, path: '/api/identities', body: { kind: 'persistent' } })
  const { token } = JSON.parse(made.text)
  const thread = { title: 'New', content: 'By a newer build' }
  const question = { ...post, path: '/api/threads', token, key: 'formats-new-1', body: thread }
  const published = await ask(url, question)
  assert.equal(published.status, 201, published.text)
  const { read_url: path } = JSON.parse(published.text)
  return [await ask(url, { method: 'GET', path, token }), await ask(url, question)]
}

/** Returns the bytes of every file of a log and its checkpoints, by name. */
function filesOf(data: string): Map<string, Buffer> {
  const names = readdirSync(data).filter((name) => /^\d+\./.test(name))
  return new Map(names.map((name) => [name, readFileSync(join(data, name))]))
}

/** Gives the files of this kind another format version. */
function setVersion(data: string, kind: '.wal' | '.checkpoint', version: number): void {
  for (const [name, bytes] of filesOf(data)) {
    if (!name.endsWith(kind)) continue
    bytes.writeUInt32LE(version, 8)
    if (kind === '.wal') bytes.writeUInt32LE(crc32(bytes.subarray(0, 508)), 508)
    else bytes.writeUInt32LE(crcOf(bytes), 12)
    writeFileSync(join(data, name), bytes)
  }
}

for (const [kind, version] of [
  ['.wal', 1],
  ['.wal', 2],
  ['.checkpoint', 1],
] as const) {
  t.test(
    `${kind} ${version} by a build before 1.0: refused with 76 and the last commit`,
    async (t) => {
      const data = dataDirectory(t)
      cpSync(join(fixtures, 'release-1.0', 'store'), data, { recursive: true })
      setVersion(data, kind, version)
      const before = filesOf(data)
      const refusal = {
        exitCode: 76,
        message: new RegExp(`has format version ${version} .* commit [0-9a-f]{8} is the last`),
      }
      await t.rejects(
        nodeOver(data, async () => ({ status: 0, error: 'timeout', body: '' })),
        refusal,
      )
      t.same(filesOf(data), before, 'nothing was changed')
    },
  )
}

t.test('by a newer program: refused with 76, which names its version', async (t) => {
  const data = dataDirectory(t)
  cpSync(join(fixtures, 'release-1.0', 'store'), data, { recursive: true })
  const timeout = async () => ({ status: 0, error: 'timeout', body: '' }) as const
  const node = await nodeOver(data, timeout)
  await node.stop()
  const version = join(data, 'version')
  t.equal(readFileSync(version, 'utf8'), `${withCommit('0.0.0')}\n`)
  writeFileSync(version, '9.8.7-rc.1\n')
  setVersion(data, '.wal', 99)
  const before = filesOf(data)
  const message = /format version 99 .*; version 9\.8\.7-rc\.1 was last started on it$/
  await t.rejects(nodeOver(data, timeout), { exitCode: 76, message })
  t.same(filesOf(data), before, 'nothing was changed')
  t.equal(readFileSync(version, 'utf8'), '9.8.7-rc.1\n')
})

for (const name of readdirSync(fixtures).filter((name) => name.startsWith('release-'))) {
  const fixture = join(fixtures, name)
  const expected: Expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8'))
  for (const way of ['its checkpoints', 'its log alone']) {
    t.test(`${name}: started from ${way}: answers as before, goes on, starts again`, async (t) => {
      const data = dataDirectory(t)
      cpSync(join(fixture, 'store'), data, { recursive: true })
      const isLogAlone = way === 'its log alone'
      for (const name of readdirSync(data)) {
        if (isLogAlone && /\.(checkpoint|pages)$/.test(name)) rmSync(join(data, name))
      }
      const again = { ...expected, resent: 0 }
      const added: Answer[] = []
      const { listed, code } = expected.invitations
      await atTime(data, expected, async (url, checkpoint, node) => {
        t.equal(checkpoint === 0, isLogAlone, `it starts from position ${checkpoint}`)
        t.same(await invitationsOf(node), listed)
        await checkAnswers(t, url, expected.answers)
        await use(node, code)
      })
      await atTime(data, again, async (url, _, node) => {
        const used = listed.map(({ used }, i) => used + (i === listed.length - 1 ? 1 : 0))
        t.same(
          await invitationsOf(node),
          listed.map((each, i) => ({ ...each, used: used[i] })),
        )
        await checkAnswers(t, url, lasting(expected))
        added.push(...(await addThread(url)))
      })
      await atTime(data, again, (url) => checkAnswers(t, url, added))
    })
  }
}
