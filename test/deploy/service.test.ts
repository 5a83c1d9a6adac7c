// The systemd unit: systemd reads it without a warning, rates its sandboxing as good, and lets the
// node do its work.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Forum } from '../api/harness.ts'
import { dataDirectory, Program, program } from '../api/process.ts'
import { lab, newReceiver, woken } from '../api/webhook-lab.ts'
import { until } from '../until.ts'

const path = join(import.meta.dirname, '../../../deploy/agent-forum.service')
const unit = readFileSync(path, 'utf8')

/** Returns the values of a setting in the unit, in order. */
function valuesOf(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)
}

/** The tools are Debian packages, which .ci/tools installs. */
function skipWithout(...tools: string[]): string | false {
  const missing = tools.find((tool) => spawnSync(tool, ['--version']).status !== 0)
  return missing === undefined ? false : `${missing} is not installed`
}

function analyze(...args: string[]) {
  return spawnSync('systemd-analyze', args, { encoding: 'utf8' })
}

/** Copies the unit, with the path of a program in place of the command that a package installs. */
function installed(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-unit-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const command = join(dir, 'agent-forum')
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  chmodSync(command, 0o755)
  const file = join(dir, 'agent-forum.service')
  writeFileSync(file, unit.replace('ExecStart=agent-forum ', `ExecStart=${command} `))
  return file
}

t.test(
  'unit: systemd-analyze verify: no warning',
  {
    skip: skipWithout('systemd-analyze'), // if it is not installed
  },
  async (t) => {
    const { status, stderr, stdout } = analyze('verify', '--man=no', installed(t))
    t.strictSame([status, stdout, stderr], [0, '', ''])
  },
)

t.test(
  'unit: systemd-analyze security: an exposure of at most 1.5 of 10',
  {
    skip: skipWithout('systemd-analyze'), // if it is not installed
  },
  async (t) => {
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=15', path)
    t.equal(status, 0, stdout)
    t.match(stdout, /Overall exposure level for agent-forum.service: 1\.\d OK/)
    t.notMatch(unit, /^MemoryDenyWriteExecute/m, 'V8 compiles what it runs')
  },
)

t.test('unit: the command: a node with the file of settings, if it is there', async (t) => {
  const [command, ...more] = valuesOf('ExecStart')
  t.same(more, [])
  const [name, ...args] = command!.split(' ')
  t.equal(name, 'agent-forum')
  const config = join(mkdtempSync(join(tmpdir(), 'agent-forum-unit-')), 'agent-forum.json')
  t.teardown(() => rmSync(join(config, '..'), { recursive: true }))
  writeFileSync(config, '{ "port": 0, "data": "/nowhere" }')
  const here = args.map((arg) => arg.replace('/etc/agent-forum.json', config))
  t.same(valuesOf('StateDirectory'), ['agent-forum'])
  t.same(valuesOf('Environment'), ['AGENT_FORUM_DATA=%S/agent-forum'])
  const data = dataDirectory(t)
  const node = new Program(here, { AGENT_FORUM_DATA: data })
  t.teardown(() => node.stop('SIGKILL'))
  t.equal((await node.logged('started')).data, data, 'the variable precedes the file')
  t.match(await node.stop('SIGTERM'), { code: 0 })
})

/** Returns all system calls in a list such as `@system-service`, including its nested lists. */
function systemCalls(name: string): Set<string> {
  const { stdout } = analyze('syscall-filter', '--no-pager', name)
  const names = [...stdout.matchAll(/^ {4}(@?\w[\w-]*)$/gm)].map(([, found]) => found!)
  return new Set(names.flatMap((each) => (each.startsWith('@') ? [...systemCalls(each)] : each)))
}

// V8 asks for a protection key for its code, which few machines have, and works without one. Only
// as root does SQLite give its files an owner. `libsql` asks Node for a report with addresses.
const doneWithout = ['pkey_alloc', 'fchown', 'AF_NETLINK']

t.test(
  'unit: what a node does: its filters of system calls and sockets let it',
  {
    skip: skipWithout('systemd-analyze', 'strace'), // if one of them is missing
  },
  async (t) => {
    const calls = new Set<string>()
    for (const filter of valuesOf('SystemCallFilter')) {
      const isDenied = filter.startsWith('~')
      for (const name of filter.replace('~', '').split(' ')) {
        for (const call of name.startsWith('@') ? systemCalls(name) : [name]) {
          if (isDenied) calls.delete(call)
          else calls.add(call)
        }
      }
    }
    t.ok(calls.size > 200, 'the lists are read')

    const data = dataDirectory(t)
    const trace = `${data}-trace`
    const under = ['strace', '-D', '-f', '-qq', '-o', trace]
    const forum = new Forum(data, lab, { under })
    forum.environment.AGENT_FORUM_NO_SEARCH = 'off'
    t.teardown(() => forum.stop('SIGKILL'))
    await forum.start()
    const ana = await forum.identity({ kind: 'persistent' })
    await woken(ana, await newReceiver())
    await ana.thread({ title: 'Found', content: 'an ornithopter' })
    await until('the word to be found', async () => {
      const { text } = await forum.anonymous.get('/api/search?q=ornithopter')
      return text.includes('an ornithopter')
    })
    await forum.stop()
    await forum.agent.destroy()

    const lines = readFileSync(trace, 'utf8').split('\n')
    const used = new Set(lines.flatMap((line) => /^\d+ +(\w+)\(/.exec(line)?.[1] ?? []))
    t.ok(used.has('fdatasync') || used.has('fsync'), 'the trace is of a node')
    const refused = [...used].filter((call) => !calls.has(call) && !doneWithout.includes(call))
    t.same(refused, [])
    const families = valuesOf('RestrictAddressFamilies')[0]!.split(' ')
    const sockets = lines.flatMap((line) => /socket\((AF_\w+)/.exec(line)?.[1] ?? [])
    t.same(
      [...new Set(sockets)].filter((family) => ![...families, ...doneWithout].includes(family)),
      [],
    )
  },
)

t.test(
  'unit: exit codes: what may pass by itself is tried again, what cannot is not',
  async (t) => {
    t.same(valuesOf('Restart'), ['on-failure'])
    // docs/operating.md, "Starting and stopping": 75 means that a port or a directory is in use.
    t.same(valuesOf('RestartPreventExitStatus'), ['64 76 77 78'])
  },
)
