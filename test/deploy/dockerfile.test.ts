// The Dockerfile, as far as it can be checked without Docker: what it copies exists, what it starts
// is part of a build, and its health check distinguishes a ready node from one that is not.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { parseConfig, unknownVariables } from '../../src/config/config.ts'
import { bindingFile, repackagings, unsuited } from '../../src/edge/http/uws-binding.ts'
import { startForum } from '../api/harness.ts'
import { freePort } from '../free-port.ts'

const top = join(import.meta.dirname, '../../..')
const read = (name: string) => readFileSync(join(top, name), 'utf8')

interface Instruction {
  name: string
  rest: string
}

/** The instructions of each stage, each joined into one line. */
const stages: Instruction[][] = []
const text = read('Dockerfile').replaceAll(/^#.*\n/gm, '')
for (const line of text.replaceAll(/\\\n/g, ' ').split('\n')) {
  if (line.trim() === '') continue
  const [, name, rest] = /^([A-Z]+) +(.*)$/.exec(line)!
  if (name === 'FROM') stages.push([])
  stages.at(-1)!.push({ name: name!, rest: rest!.trim() })
}
const [build, served] = stages as [Instruction[], Instruction[]]
const only = (stage: Instruction[], name: string) => {
  const found = stage.filter((instruction) => instruction.name === name)
  if (found.length !== 1) throw new Error(`${found.length} times ${name}`)
  return found[0]!.rest
}

t.test('Dockerfile: what it copies: exists, and reaches the build', async (t) => {
  t.equal(stages.length, 2)
  const [everything, ...kept] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  t.equal(everything, '*')
  const sources = build
    .filter(({ name }) => name === 'COPY')
    .flatMap(({ rest }) => rest.split(/ +/).slice(0, -1))
  t.ok(sources.length > 5)
  for (const source of sources) t.ok(existsSync(join(top, source)), source)
  t.same(kept.toSorted(), sources.map((source) => `!${source}`).toSorted())
})

t.test('Dockerfile: what the second stage takes: is what the first one makes', async (t) => {
  const image = only(build, 'FROM')
  t.equal(image, `${only(served, 'FROM')} AS build`, 'modules fit the Node that runs them')
  const copies = served.filter(({ name }) => name === 'COPY').map(({ rest }) => rest)
  for (const copy of copies) t.match(copy, /^--from=build \/build\/\S+ \S+$/)
  const taken = copies.map((copy) => /\/build\/(\S+)/.exec(copy)![1])
  const documents = ['CHANGELOG.md', 'SECURITY.md', 'docs']
  t.same(taken, ['package.json', ...documents, 'dist/agent-forum'])
  for (const path of taken) t.ok(existsSync(join(top, path!)), path)
})

t.test('Dockerfile: its C library: loads the binding of its Node', async (t) => {
  const [, major, release] = /^node:(\d+)-(\w+)-slim$/.exec(only(served, 'FROM'))!
  // https://nodejs.org/en/about/previous-releases: NODE_MODULE_VERSION.
  const abi = { 22: '127', 24: '137' }[major!]!
  const glibc = { bookworm: '2.36', trixie: '2.41' }[release!]!
  const packed = repackagings.find(({ abis }) => abis.includes(abi))!
  t.ok(glibc.localeCompare(packed.glibcMin, 'en', { numeric: true }) >= 0)
  // Of these versions it is known that they have bindings for Linux on x64 and on arm64. If you
  // raise one, check for both.
  const { packages } = JSON.parse(read('package-lock.json'))
  t.equal(packages['node_modules/uws-pack'].version, '20.0.8')
  t.equal(packages['node_modules/@btc-vision/uwebsockets.js'].version, '20.56.0')
})

t.test('bundle: of the bindings it has one, for the Node that built it', async (t) => {
  const bundle = join(top, 'dist/agent-forum')
  const files = readdirSync(bundle, { recursive: true, encoding: 'utf8' })
  const bindings = files.filter((file) => file.endsWith('.node'))
  const { modules } = process.versions
  const packed = repackagings.find(({ abis }) => abis.includes('137'))!
  const abi = modules === '137' && unsuited(packed) === null ? '137' : '127'
  t.same(
    bindings.map((file) => basename(file)),
    [bindingFile(abi)],
  )
})

t.test('Dockerfile: the process: is no root, and serves with variables that exist', async (t) => {
  t.equal(only(served, 'USER'), 'node')
  const environment = Object.fromEntries(
    only(served, 'ENV')
      .split(/ +/)
      .map((pair) => pair.split('=') as [string, string]),
  )
  t.same(unknownVariables(environment), [])
  const config = parseConfig([], environment)
  t.match(config, { host: '0.0.0.0', data: '/data', opsHost: '0.0.0.0', opsPort: 8788 })
  t.equal(only(served, 'EXPOSE'), `${config.port}`)
  t.equal(only(served, 'VOLUME'), config.data)
  const [node, ...rest] = JSON.parse(only(served, 'ENTRYPOINT'))
  const script = rest.pop().replace('/app', top)
  const command = [...rest, script, ...JSON.parse(only(served, 'CMD')), '--help']
  t.equal(node, 'node')
  t.match(spawnSync(process.execPath, command, { encoding: 'utf8' }), { status: 0 })
})

t.test('Dockerfile: its health check: 0 for a node that is ready, 1 without one', async (t) => {
  const port = await freePort()
  const [, check] = /CMD (\[.*\])/.exec(only(served, 'HEALTHCHECK'))!
  const [, ...args] = JSON.parse(check!) as string[]
  const env = { ...process.env, AGENT_FORUM_OPS_PORT: `${port}` }
  const status = () => spawnSync(process.execPath, args, { env }).status
  t.equal(status(), 1)
  await startForum(t, ['--ops-port', `${port}`])
  t.equal(status(), 0)
})
