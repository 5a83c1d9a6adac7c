// The command line without privileges: an unreadable directory, a privileged port, too few open
// files. Each failure is reported in one sentence and with its exit code, without a stack trace.

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startForum } from '../api/harness.ts'
import { dataDirectory, program } from '../api/process.ts'

/** Drops the capabilities of root: access to files regardless of their modes, and low ports. */
const withoutRights = ['setpriv', '--bounding-set=-all', '--inh-caps=-all']
const isRoot = process.getuid?.() === 0
const hasSetpriv = spawnSync('setpriv', ['--version']).status === 0
// To run as an ordinary user, root needs setpriv, from util-linux.
const skip = isRoot && !hasSetpriv ? 'no setpriv here (apt-get install util-linux)' : false

function run(command: readonly string[]) {
  const [file, ...args] = command
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 60_000 })
  return { code: status, stdout, stderr }
}

const agentForum = (...args: string[]) => [
  ...(isRoot ? withoutRights : []),
  process.execPath,
  program,
  ...args,
]

/** Creates a data directory that a node has written and that nobody may read. */
async function unreadable(t: Test): Promise<string> {
  const forum = await startForum(t, ['--segment-mb', '1'])
  await forum.identity({})
  await forum.stop()
  chmodSync(forum.data, 0)
  t.teardown(() => chmodSync(forum.data, 0o700))
  return forum.data
}

t.test('data that cannot be read: any command: 74 in one sentence', { skip }, async (t) => {
  const data = await unreadable(t)
  const to = `${data}-copy`
  const commands = [
    ['wal', 'verify'],
    ['wal', 'inspect'],
    ['wal', 'export'],
    ['wal', 'repair', '--copy-to', to],
    ['backup', '--to', to],
    ['serve', '--port', '0'],
  ]
  for (const command of commands) {
    const { code, stderr } = run(agentForum(...command, '--data', data))
    t.equal(code, 74, command.join(' '))
    t.match(stderr, /^agent-forum: cannot [^\n]+: EACCES: permission denied[^\n]*\n$/)
    t.notOk(existsSync(to))
  }
})

t.test(
  'a new directory in one that cannot be read: 74, not "takes a new directory"',
  { skip },
  (t) => {
    const directory = dataDirectory(t)
    const [closed, archive] = [`${directory}/closed`, `${directory}/archive`]
    mkdirSync(closed, { recursive: true })
    writeFileSync(archive, '')
    chmodSync(closed, 0)
    t.teardown(() => chmodSync(closed, 0o700))
    const commands = [
      ['import', archive, '--data', `${closed}/new`],
      ['backup', '--data', directory, '--to', `${closed}/new`],
    ]
    for (const command of commands) {
      const { code, stderr } = run(agentForum(...command))
      t.equal(code, 74, command[0])
      t.match(stderr, /^agent-forum: cannot [^\n]+: EACCES: [^\n]+; run this as the user [^\n]+\n$/)
    }
    t.end()
  },
)

const lowestPort = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
const anyPort = existsSync(lowestPort) && Number(readFileSync(lowestPort)) <= 80
const skipPort = skip || (anyPort ? 'every user may listen on port 80 here' : false)
for (const http of ['node', 'auto']) {
  // In containers, every user may often listen on every port.
  t.test(`port 80 without the right: --http ${http}: 64`, { skip: skipPort }, async (t) => {
    const args = ['--port', '80', '--http', http, '--data', dataDirectory(t)]
    const { code, stderr } = run(agentForum('serve', ...args))
    t.equal(code, 64)
    t.match(stderr, /^agent-forum: this user may not listen on port 80: [^\n]+ --port\n$/)
  })
}

/** Runs the command with a limit on its number of open files. */
function limited(files: number, ...args: string[]) {
  const command = `ulimit -n ${files}; exec "$0" "$@"`
  return run(['sh', '-c', command, process.execPath, program, ...args])
}

/** Enough for Node and the command line, and too few for a node. */
const tooFew = process.versions.node.startsWith('20.') ? 36 : 26
t.test(`${tooFew} open files: a node: 74, and what to raise`, async (t) => {
  const { code, stderr } = limited(tooFew, 'serve', '--port', '0', '--data', dataDirectory(t))
  t.equal(code, 74)
  t.match(stderr, /^agent-forum: too many open files; raise `ulimit -n`[^\n]*\n$/)
})

t.test('64 open files: a tool: does its work', async (t) => {
  const forum = await startForum(t, ['--segment-mb', '1'])
  await forum.identity({})
  await forum.stop()
  t.match(limited(64, 'wal', 'verify', '--data', forum.data), { code: 0, stderr: '' })
})
