// The Dockerfile, as far as it can be checked without Docker: what it copies exists, what it starts
// is part of a build, and its health check distinguishes a ready node from one that is not.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig, unknownVariables } from '../../src/config/config.ts'
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
  t.same(taken, ['package.json', 'dist/agent-forum'])
  for (const path of taken) t.ok(existsSync(join(top, path!)), path)
})

t.test('Dockerfile: the binding of the bundle: is that of its Node', async (t) => {
  const [, major] = /^node:(\d+)-/.exec(only(served, 'FROM'))!
  // https://nodejs.org/en/about/previous-releases: NODE_MODULE_VERSION.
  const abi = { 20: '115', 22: '127' }[major!]
  const [binding, ...more] = readdirSync(join(top, 'dist/agent-forum/uws-pack/dist/bin'))
  t.equal(binding, `uws_${process.platform}_${process.arch}_${abi}.node`)
  t.same(more, [])
  // `npm ci` keeps only the bindings for this machine (build/prune.ts). Version 20.0.8 of the
  // package has bindings for Linux on x64 and on arm64. If you raise the version, check for both.
  const { packages } = JSON.parse(read('package-lock.json'))
  t.equal(packages['node_modules/uws-pack'].version, '20.0.8')
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
