// Node 24 on Debian 13, whose C library loads the binding of uWebSockets.js for it. Where the C
// library is older, the suites of the edge run in a root of Debian 13 that .ci/tools has made.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { timeoutMs } from '../depth.ts'

t.setTimeout(timeoutMs)

const top = join(import.meta.dirname, '../../..')
const node = join(top, '.ci/nodes/node_modules/node-24/bin/node')
const name = '@btc-vision/uwebsockets.js'

const isMade = existsSync(join(top, 'dist/debian-13/made')) && existsSync(node)
// .ci/tools makes the root, as root; it is not part of an installation.
const skip = isMade && process.getuid?.() === 0 ? false : 'a root of Debian 13: .ci/tools makes it'

/** Runs a program on Node 24 in the root. Returns what it printed. */
function inRoot(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('.ci/debian-13', [node, ...args], {
    cwd: top,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(stdout + stderr)
  return stdout
}

t.test('Node 24: on Debian 13: serves with the binding of the lock file', { skip }, async (t) => {
  const { packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8'))
  const { version } = packages[`node_modules/${name}`]
  const printed = inRoot('dist/agent-forum/cli/main.js', 'version')
  t.match(printed, new RegExp(`, Node 24\\..*, HTTP by ${name} ${version}\n`))
  const packed = `import('./dist/build/parts.js').then(async ({ programFiles }) => {
    console.log([...(await programFiles('137')).files.keys()].join('\\n'))
  })`
  const files = inRoot('-e', packed).split('\n')
  const own = files.filter((file) => file.startsWith(name))
  const file = `uws_${process.platform}_${process.arch}_137.node`
  t.same(own, [`${name}/${file}`, `${name}/package.json`], 'what a build there packs')
})

t.test('Node 24: on Debian 13: the suites of the edge', { skip }, async (t) => {
  const ofApi = ['bodies', 'connections', 'hostile', 'methods', 'other-protocols', 'proxy-headers']
  // What the others check is decided by our own code.
  const ofEdge = ['incoming-body', 'parse', 'shared-port', 'uws-binding']
  const suites = [
    ...ofEdge.map((suite) => `edge/http/${suite}`),
    ...ofApi.map((suite) => `api/${suite}`),
  ]
  const paths = suites.map((suite) => join('dist/test', `${suite}.test.js`))
  const last = inRoot('dist/test/run.js', ...paths)
    .trimEnd()
    .split('\n')
    .at(-1)
  t.match(last, /^# \{ total: \d{3,}, pass: \d+, fail: 0 \}$/)
})
