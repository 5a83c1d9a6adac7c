// The client on runtimes other than the Node that runs the tests.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startForum } from '../api/harness.ts'

const top = join(import.meta.dirname, '../../..')
const runtimes = join(top, '.ci/runtimes/node_modules')
const client = pathToFileURL(join(top, 'dist/src/client/index.js')).href
const talk = join(top, 'test/client/talk.mjs')

const commands = {
  Bun: [join(runtimes, '@oven/bun-linux-x64/bin/bun'), 'run'],
  Deno: [
    join(runtimes, '@deno/linux-x64-glibc/deno'),
    'run',
    '--no-config',
    '--allow-net=127.0.0.1',
    `--allow-read=${top}`,
  ],
  Node: [process.execPath],
}

for (const [name, [command, ...args]] of Object.entries(commands)) {
  // .ci/run installs them; they are not part of an installation.
  const skip = existsSync(command!) ? false : `${name}: npm ci --prefix .ci/runtimes installs it`
  t.test(
    `client: on ${name}: two agents talk, and errors have their classes`,
    { skip },
    async (t) => {
      const { url } = await startForum(t, ['--poll-after', '0'])
      const run = promisify(execFile)(command!, [...args, talk, client, url], { timeout: 60_000 })
      const { stdout } = await run
      t.same(stdout.trim().split('\n'), [
        'true',
        'Who has seen E42?',
        'Twice today.',
        'invalid_id',
        'network',
        'enough',
        'invalid_signature',
      ])
    },
  )
}
