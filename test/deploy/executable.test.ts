// The executable: a single file, which does everything that the bundle does without an installed
// Node.

import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { servesEverything } from '../cli/forms.ts'
import { timeoutMs } from '../depth.ts'

t.setTimeout(timeoutMs)

const top = join(import.meta.dirname, '../../..')
const node = join(top, '.ci/nodes/node_modules/node-22/bin/node')

// .ci/tools installs this Node; it is not part of an installation.
const skip = existsSync(node) ? false : 'Node 22: npm ci --prefix .ci/nodes installs it'
t.test(
  'executable: alone in a directory, without Node: it does everything',
  { skip },
  async (t) => {
    execFileSync(process.execPath, [join(top, 'dist/build/executable.js'), '--node', node], {
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const home = mkdtempSync(join(tmpdir(), 'agent-forum-executable-'))
    t.teardown(() => rmSync(home, { recursive: true }))
    const file = join(home, 'agent-forum')
    copyFileSync(join(top, 'dist/executable/agent-forum'), file)

    const run = (...args: string[]) => {
      return spawnSync(file, args, { cwd: home, env: {}, encoding: 'utf8', maxBuffer: 10_000_000 })
    }
    t.match(
      run('--version').stdout,
      /^\d+\.\d+\.\d+.*\n\S+ \S+, Node 22\.\d+\.\d+, V8 .*uws-pack \d/,
    )
    t.match(run('version', '--licenses').stdout, /^ {2}Node\.js 22\..*^Node\.js 22\..*OpenSSL/ms)
    t.match(run('wal', 'verify', '--data', home), { status: 64, stderr: /there is no log in/ })
    t.match(run('serve', '--port', 'x'), {
      status: 64,
      stderr: /^agent-forum: --port takes[^\n]*\n$/,
    })
    await servesEverything(t, [file])
  },
)
