// The lock: one process per data directory.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { realDisk } from '../../wal/disk.ts'
import { openJournal } from '../../wal/journal/journal.ts'
import { lockDirectory } from '../../wal/journal/lock.ts'
import { until } from '../until.ts'
import { dir, open } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const journalUrl = new URL('../../wal/journal/journal.js', import.meta.url).href
const owning = `
  import { openJournal } from '${journalUrl}'
  const journal = await openJournal({ dir: process.argv[1], segmentBytes: 65536, onRecord() {} })
  journal.onDurable = () => console.log('held')
  journal.append('from the child')
  setInterval(() => {}, 1000)
`

async function childThatOwns(where: string): Promise<{ pid: number; kill(): Promise<void> }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', owning, where], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const kill = async () => {
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  return { pid: child.pid!, kill }
}

t.test('another process has the lock: refused with 75 and its pid; once dead: taken', async (t) => {
  const where = path.join(t.testdir({}), 'wal')
  const child = await childThatOwns(where)
  const records: unknown[] = []
  const start = () =>
    openJournal({ dir: where, segmentBytes: 65536, onRecord: (_, record) => records.push(record) })
  await t.rejects(start(), new RegExp(`wal is in use by process ${child.pid}; stop it`))
  await child.kill()
  const journal = await start()
  t.same(records, ['from the child'])
  await t.rejects(start(), new RegExp(`in use by process ${process.pid}; stop it`))
  await journal.close()
  t.same(
    fs.readdirSync(where).filter((name) => name.startsWith('lock')),
    [],
  )
})

t.test('its owner was killed and is a zombie: taken', async (t) => {
  const where = path.join(t.testdir({}), 'wal')
  // The shell becomes a process that never reaps its children.
  const script = '"$0" --input-type=module -e "$1" "$2" & echo $!; exec sleep 600'
  const parent = spawn('sh', ['-c', script, process.execPath, owning, where])
  t.teardown(() => parent.kill('SIGKILL'))
  let text = ''
  // The shell's line may come before or after the child's.
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.on('data', (chunk) => {
      text += chunk
      const [, line] = /^(\d+)\n/m.exec(text) ?? []
      if (line !== undefined && text.includes('held\n')) resolve(Number(line))
    }),
  )
  process.kill(pid, 'SIGKILL')
  const state = () => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  await until('a zombie of init', () => state()[0] === 'Z' && state()[17] === '1')
  const journal = await openJournal({ dir: where, segmentBytes: 65536, onRecord() {} })
  await journal.close()
})

t.test('locked by this process: refused with 75', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await t.rejects(open(disk), new RegExp(`/data is in use by process ${process.pid}; stop it`))
  await journal.close()
  await (await open(disk)).journal.close()
})

function ownerFile(changes: object): Buffer {
  const alive = { pid: process.pid, startTicks: '1', bootId: 'boot-1', pidNamespace: 'pid:[1]' }
  const owner = { token: 'a1', ...alive, host: os.hostname() }
  return Buffer.from(JSON.stringify({ ...owner, ...changes }))
}

t.test('an owner that is dead in every way it can be: taken over', async (t) => {
  for (const [why, changes] of Object.entries({
    'the pid is gone': { pid: 4_000_000 },
    'the pid is another process now': { startTicks: '7' },
    'the machine was started again': { bootId: 'boot-0' },
  })) {
    const disk = new SimulatedDisk(1)
    disk.overwrite(`${dir}/lock`, ownerFile(changes))
    const unlock = await lockDirectory(disk, dir)
    unlock()
    t.same(disk.list(dir), [], why)
  }
})

t.test('the owner is on another machine: refused, and says what to remove', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.overwrite(`${dir}/lock`, ownerFile({ bootId: 'boot-9', host: 'elsewhere' }))
  await t.rejects(lockDirectory(disk, dir), /process \d+ on elsewhere; .* remove \/data\/lock/)
})

t.test('a lock that a power loss emptied: taken over', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.overwrite(`${dir}/lock`, Buffer.alloc(40))
  const unlock = await lockDirectory(disk, dir)
  unlock()
  t.same(disk.list(dir), [])
})

t.test('a lock and its successor that a power loss emptied: taken over', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.overwrite(`${dir}/lock`, Buffer.alloc(40))
  disk.overwrite(`${dir}/lock.after-broken-0`, Buffer.alloc(0))
  const unlock = await lockDirectory(disk, dir)
  unlock()
  t.same(disk.list(dir), [])
})

t.test('a process died while it took over a dead lock: taken over again', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.overwrite(`${dir}/lock`, ownerFile({ bootId: 'boot-0' }))
  disk.overwrite(`${dir}/lock.after-a1`, ownerFile({ token: 'b2', bootId: 'boot-0' }))
  const unlock = await lockDirectory(disk, dir)
  unlock()
  t.same(disk.list(dir), [])
})

t.test(
  'a lock that is JSON and names no owner: refused with 75, and says what to do',
  async (t) => {
    const whole = JSON.parse(`${ownerFile({})}`)
    const wrong = [null, {}, [], 0, 'text', { ...whole, token: '../a' }, { ...whole, pid: '1' }]
    for (const content of wrong) {
      const disk = new SimulatedDisk(1)
      const text = JSON.stringify(content)
      disk.overwrite(`${dir}/lock`, Buffer.from(text))
      await t.rejects(lockDirectory(disk, dir), {
        exitCode: 75,
        message: /^\/data\/lock names no process .* then remove it$/,
      })
      t.same(disk.bytesOf(`${dir}/lock`), Buffer.from(text), 'it is unchanged')
      t.same(disk.list(dir), ['lock'])
    }
  },
)

t.test('a file instead of a directory: refused with 74, the reason and advice', async (t) => {
  const file = path.join(t.testdir({ file: '' }), 'file')
  await t.rejects(lockDirectory(realDisk, file), {
    exitCode: 74,
    message: /^cannot lock \S+: ENOTDIR: not a directory, open [^;]+; name a directory$/,
  })
})

t.test(
  'an owner in another PID namespace without a life sign: refused, and says why',
  async (t) => {
    for (const pidNamespace of ['pid:[2]', null]) {
      const disk = new SimulatedDisk(1)
      disk.overwrite(`${dir}/lock`, ownerFile({ pidNamespace, host: 'container-1' }))
      await t.rejects(lockDirectory(disk, dir), {
        exitCode: 75,
        message: /may be in use by process \d+ of another PID .* remove \/data\/lock$/,
      })
    }
  },
)

t.test('many processes start on a dead lock at once: one gets it, the others 75', async (t) => {
  const where = t.testdir({})
  const lockUrl = new URL('../../wal/journal/lock.js', import.meta.url).href
  const diskUrl = new URL('../../wal/disk.js', import.meta.url).href
  const racing = `
    import { lockDirectory } from '${lockUrl}'
    import { realDisk } from '${diskUrl}'
    process.stdin.once('data', async () => {
      try {
        await lockDirectory(realDisk, process.argv[1])
        console.log('got')
      } catch (error) {
        console.log(error.exitCode)
      }
      process.stdin.once('end', () => process.exit()).resume()
    })
    console.log('ready')
  `
  for (let round = 0; round < 3; round++) {
    fs.writeFileSync(path.join(where, 'lock'), ownerFile({ token: `r${round}`, bootId: 'gone' }))
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', racing, where]),
    )
    const line = (child: (typeof children)[number]) =>
      new Promise<string>((resolve) =>
        child.stdout.once('data', (text) => resolve(`${text}`.trim())),
      )
    await Promise.all(children.map(line))
    const answers = children.map(line)
    for (const child of children) child.stdin.write('go\n')
    t.same((await Promise.all(answers)).sort(), ['75', '75', '75', 'got'])
    const gone = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
    for (const child of children) child.stdin.end()
    await Promise.all(gone)
  }
})

t.test('the disk is full: the lock takes the reserve, but no file of somebody else', async (t) => {
  for (const content of [Buffer.alloc(4096), Buffer.from('a text'.padEnd(4096))]) {
    const disk = new SimulatedDisk(7)
    disk.overwrite(`${dir}/reserve`, content)
    disk.capacityBytes = 4096
    if (content[0] === 0) {
      const unlock = await lockDirectory(disk, dir)
      t.notOk(disk.list(dir).includes('reserve'))
      unlock()
    } else {
      await t.rejects(lockDirectory(disk, dir), { message: /ENOSPC/ })
      t.same(disk.bytesOf(`${dir}/reserve`), content)
    }
  }
})
