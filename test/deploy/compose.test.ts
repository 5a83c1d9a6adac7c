// The files for containers and for three machines, as far as they can be checked without either:
// the tools that read them accept them, and the node accepts the settings in them.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig, unknownVariables } from '../../src/config/config.ts'

const top = join(import.meta.dirname, '../../..')
const three = join(top, 'deploy/three-machines')
const read = (name: string) => readFileSync(join(three, name), 'utf8')

/** The tools are Debian packages, which .ci/tools installs. */
function skipWithout(...tools: string[]): string | false {
  const missing = tools.find((tool) => spawnSync(tool, ['--help']).error !== undefined)
  return missing === undefined ? false : `${missing} is not installed`
}

/** Creates a directory that is removed after the test. */
function directory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-forum-deploy-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  return path
}

interface Service {
  command: string | string[]
  environment: Record<string, string>
  ports: string[]
  volumes: string[]
}

/** Returns the services of a file, as docker-compose understands it, or its refusal. */
function composed(file: string, variables: Record<string, string>) {
  const config = spawnSync('docker-compose', ['--file', join(top, file), 'config'], {
    env: { PATH: process.env.PATH, ...variables },
    encoding: 'utf8',
  })
  // The Python of the distribution has the library, since docker-compose needs it.
  const program = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'
  const input = config.stdout
  const { stdout } = spawnSync('/usr/bin/python3', ['-c', program], { input, encoding: 'utf8' })
  const services: Record<string, Service> = JSON.parse(stdout)?.services ?? {}
  return { services, stderr: config.stderr }
}

/** The settings with which a container of the Dockerfile serves. */
const ofImage = { AGENT_FORUM_DATA: '/data', AGENT_FORUM_HOST: '0.0.0.0' }

const skip = skipWithout('docker-compose')

t.test('compose: one node: its settings are accepted, its data are in a volume', { skip }, (t) => {
  const { services, stderr } = composed('compose.yaml', {})
  t.equal(stderr, '')
  t.same(Object.keys(services), ['forum'])
  const { environment, ports, volumes, command } = services.forum!
  t.same(unknownVariables(environment), [])
  const config = parseConfig([], { ...ofImage, ...environment })
  t.equal(config.publicUrl, 'http://localhost:8787')
  t.same(command, ['serve'])
  t.same(volumes, [`data:${config.data}:rw`])
  for (const port of ports) t.match(port, /^127\.0\.0\.1:(\d+):\1\/tcp$/)
  t.end()
})

t.test('compose: three nodes: of one log, on three servers that know another', { skip }, (t) => {
  const file = 'deploy/three-machines/compose.yaml'
  t.match(composed(file, {}).stderr, /openssl rand -hex 32/, 'not without a secret')
  const { services, stderr } = composed(file, { AGENT_FORUM_SECRET: 'a'.repeat(64) })
  t.equal(stderr, '')
  const names = (start: string) => Object.keys(services).filter((name) => name.startsWith(start))
  const servers = names('nats-')
  const nodes = names('forum-')
  t.same([servers.length, nodes.length, Object.keys(services).length], [3, 3, 6])
  const at = (port: number) => servers.map((name) => `nats://${name}:${port}`).join(',')
  for (const name of servers) {
    const { command, volumes } = services[name]!
    t.match(command, ` --name ${name} --cluster_name forum `)
    t.match(command, ` --routes ${at(6222)}`)
    t.same(volumes, [`${name}:/data:rw`])
  }
  for (const name of nodes) {
    const { environment, volumes } = services[name]!
    t.same(unknownVariables(environment), [])
    const config = parseConfig([], { ...ofImage, ...environment })
    t.match(config.replication, { servers: at(4222).split(','), isStandby: true })
    t.same(volumes, [`${name}:/data:rw`])
  }
  const ports = nodes.map((name) => services[name]!.ports)
  t.same(
    ports,
    [8787, 8788, 8789].map((port) => [`127.0.0.1:${port}:8787/tcp`]),
  )
  t.end()
})

const needsOpenssl = { skip: skipWithout('openssl') } // if it is not installed

/** Writes a certificate and its key, and returns the path of the former. */
function certificate(dir: string): string {
  const key = ['-keyout', join(dir, 'server.key'), '-out', join(dir, 'server.pem'), '-nodes']
  spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...key, '-subj', '/CN=forum-1'])
  return join(dir, 'server.pem')
}

t.test('three machines: settings of a node: accepted, of the same machines', needsOpenssl, (t) => {
  const dir = directory(t)
  const file = join(dir, 'agent-forum.json')
  writeFileSync(file, read('agent-forum.json').replace('/etc/nats/ca.pem', certificate(dir)))
  const { replication, publicUrl } = parseConfig(['--config', file], {})
  const machines = read('nats-server.conf').match(/(?<=tls:\/\/)\S+(?=:6222)/g)!
  t.equal(machines.length, 3)
  t.match(replication, { servers: machines.map((name) => `tls://${name}:4222`) })
  t.match(replication, { isStandby: true })
  const proxy = read('nginx.conf')
  t.same(proxy.match(/(?<=^ +server )\S+(?=:8787)/gm), machines)
  t.match(proxy, `server_name ${new URL(publicUrl!).hostname};`)
  t.end()
})

t.test(
  'three machines: the configuration of a server: nats-server accepts it',
  { skip: skipWithout('nats-server', 'openssl') }, // if one is not installed
  (t) => {
    const dir = directory(t)
    copyFileSync(certificate(dir), join(dir, 'ca.pem'))
    const file = join(dir, 'nats-server.conf')
    writeFileSync(file, read('nats-server.conf').replaceAll('/etc/nats/', `${dir}/`))
    const env = { ...process.env, NATS_FORUM_PASSWORD_HASH: `$2a$11$${'a'.repeat(53)}` }
    const { status, stderr } = spawnSync('nats-server', ['-t', '--config', file], {
      env,
      encoding: 'utf8',
    })
    t.equal(status, 0, stderr)
    t.end()
  },
)

t.test(
  'three machines: the units with what is added to them: systemd accepts them',
  { skip: skipWithout('systemd-analyze') }, // if it is not installed
  (t) => {
    const dir = directory(t)
    const unit = (name: string, text: string) => {
      const folder = join(dir, `${name}.service.d`)
      mkdirSync(folder)
      // What the units start does not have to be installed here.
      const here = (part: string) => part.replaceAll(/^ExecStart=[^ \n]+/gm, 'ExecStart=/bin/true')
      writeFileSync(join(dir, `${name}.service`), here(text))
      writeFileSync(join(folder, 'override.conf'), here(read(`${name}.override.conf`)))
      return join(dir, `${name}.service`)
    }
    const forum = readFileSync(join(top, 'deploy/agent-forum.service'), 'utf8')
    const files = [
      unit('agent-forum', forum),
      unit('nats-server', '[Service]\nExecStart=/usr/sbin/nats-server -c /etc/nats-server.conf\n'),
    ]
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
      encoding: 'utf8',
    })
    t.same([status, stderr], [0, ''])
    t.end()
  },
)

t.test('development container: of the Node of the container, with the tools', async (t) => {
  const { image, postCreateCommand } = JSON.parse(
    readFileSync(join(top, '.devcontainer/devcontainer.json'), 'utf8'),
  )
  t.match(readFileSync(join(top, 'Dockerfile'), 'utf8'), `FROM ${image}-slim AS build\n`)
  t.equal(postCreateCommand, 'npm ci && .ci/tools')
})
