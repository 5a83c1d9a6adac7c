// The version of Node: every program that starts refuses one that is too old, in one sentence.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { program } from '../api/process.ts'

const top = join(import.meta.dirname, '../../..')

/** Returns the URL of a module that makes the process believe that it runs on another version. */
function pretending(version: string): string {
  const versions = `{ ...process.versions, node: '${version}' }`
  const source = `Object.defineProperty(process, 'versions', { value: ${versions} })`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

const tooOld = /^agent-forum: this is Node [\d.]+, and Node 22\.12 or newer is needed[^\n]+\n$/

t.test('Node: versions around those that are supported: too old ones are refused', async (t) => {
  const { engines } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  t.equal(engines.node, '^20.19.0 || >=22.12.0', 'src/cli/node-version.ts says the same')
  const versions = {
    '18.20.8': 64,
    '20.18.3': 64,
    '20.19.0': 0,
    '21.7.3': 64,
    '22.11.0': 64,
    '22.12.0': 0,
    '23.0.0': 0,
    '24.0.0': 0,
  }
  for (const [version, code] of Object.entries(versions)) {
    const args = ['--import', pretending(version), program, 'version']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    t.equal(status, code, version)
    if (code === 0) t.match([stdout, stderr], [/^\d/, ''])
    else t.match([stdout, stderr], ['', tooOld])
  }
})

const old = join(top, '.ci/nodes/node_modules/node-18/bin/node')
// .ci/tools installs this version; it is not part of an installation.
const skip = existsSync(old) ? false : 'Node 18: npm ci --prefix .ci/nodes installs it'
t.test(
  'Node: 18 itself: one sentence and exit 64, of a node and of a build',
  { skip },
  async (t) => {
    for (const file of [program, join(top, 'dist/src/cli/node-version.js')]) {
      const args = [file, 'serve', '--port', '0']
      const { status, stdout, stderr } = spawnSync(old, args, { encoding: 'utf8' })
      t.equal(status, 64, file)
      t.match([stdout, stderr], ['', tooOld])
    }
    const { scripts } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
    const first = scripts.build.split(' && ').find((each: string) => each.startsWith('node '))
    t.equal(first, 'node dist/src/cli/node-version.js', 'a build checks it before all else')
  },
)
