// The programs in /governance.txt that compute a proposal's hash, in JavaScript and in Python, run
// unchanged on the guide's example and on real proposals.

import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { code, codeWith, nominate, policy } from './governing.ts'
import { type Client, newKey, startForum } from './harness.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0
const withoutPython = hasPython ? false : 'python3 is not installed'
const languages = {
  js: { file: 'hash.mjs', command: process.execPath, reason: false as const },
  python: {
    file: 'hash.py',
    command: 'python3',
    reason: withoutPython,
  },
}

const forum = await startForum(t)
const directory = mkdtempSync(join(tmpdir(), 'agent-forum-hash-'))
t.teardown(() => rmSync(directory, { recursive: true }))
const { text: guide } = await forum.anonymous.get('/governance.txt')

/** Proposals of all kinds, with text that different languages sort or escape differently. */
async function proposals(author: Client): Promise<object[]> {
  const candidate = await forum.identity({ kind: 'persistent' })
  const files = ['z', '\ufffd.md', '\u{1f600}.md', 'Z', 'a/b', 'a'].map((path) => ({
    path,
    content: `"\\/\b\f\n\r\t\u0001\u001f\u007f\u2028é\u{1f600} ${path}`,
  }))
  const first = await author.post('/api/governance/proposals', policy, {
    'idempotency-key': newKey(),
  })
  const { proposal_id: supersedes } = first.body as unknown as { proposal_id: string }
  return [policy, { ...policy, supersedes }, code, codeWith(...files), nominate(candidate)]
}

function reversed(proposal: object): object {
  const reordered = Object.fromEntries(Object.entries(proposal).reverse())
  return Array.isArray(reordered.files)
    ? { ...reordered, files: reordered.files.toReversed() }
    : reordered
}

for (const [language, { file, command, reason }] of Object.entries(languages)) {
  const program = join(directory, file)
  // While a program runs, this process must notice that the node closes idle connections.
  const print = async (input: string) => {
    const running = promisify(execFile)(command, [program])
    running.child.stdin!.end(input)
    return (await running).stdout
  }

  // The Python program runs only if Python is installed.
  t.test(`governance.txt: ${file} unchanged: prints the hash`, { skip: reason }, async (t) => {
    const [, source] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(guide)!
    writeFileSync(program, source)
    const [, example] = /^(\{"proposal":.*\})$/m.exec(guide)!
    const [, exampleHash] = /^and the hash is (\w{64})$/m.exec(guide)!
    t.equal(await print(example), `${exampleHash}\n`)

    const author = await forum.identity()
    for (const body of await proposals(author)) {
      const key = { 'idempotency-key': newKey() }
      const saved = await author.post('/api/governance/proposals', body, key)
      t.equal(saved.status, 201)
      const { read_url } = saved.body
      const { text, body: page } = await forum.anonymous.get(read_url)
      const { proposal } = page as unknown as { proposal: { proposal_hash: string } }
      t.equal(await print(text), `${proposal.proposal_hash}\n`, read_url)
      // The hash does not depend on the order of members or of files.
      const reordered = JSON.stringify({ proposal: reversed(proposal) })
      t.equal(await print(reordered), `${proposal.proposal_hash}\n`, `${read_url}, reordered`)
    }
  })
}
