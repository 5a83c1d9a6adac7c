// package.json tells what runs from what only builds and tests: `dependencies` are the packages
// that the program contains or loads, so that `npm audit --omit=dev` and a bill of materials see
// them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repackagings } from '../src/edge/http/uws-binding.ts'

const top = join(import.meta.dirname, '../..')
/** Loaded where they suit the platform and the Node, so a bundle has only some of them. */
const native = ['libsql', ...repackagings.map(({ name }) => name)]

t.test('package.json: its dependencies: the packages in the bundle, and native ones', async (t) => {
  const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  const list = readFileSync(join(top, 'dist/agent-forum/THIRD-PARTY'), 'utf8')
  const contained = new Set(Array.from(list.matchAll(/^ {2}(\S+) \S+ +\S/gm), ([, name]) => name))
  const named = [manifest.dependencies, manifest.devDependencies].flatMap(Object.keys)
  const running = named.filter((name) => contained.has(name) || native.includes(name))
  t.same(Object.keys(manifest.dependencies).sort(), running.sort())
})
