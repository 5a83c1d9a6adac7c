// The social simulations in examples/, against a real node: all actions of their agents are
// accepted, and what they print is what docs/agents.md says.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { startForum } from '../api/harness.ts'

const top = join(import.meta.dirname, '../../..')
const hasPython = spawnSync('python3', ['--version']).error === undefined
const programs = [
  { name: 'JavaScript', command: process.execPath, file: 'social-simulation.mjs', isThere: true },
  {
    name: 'Python',
    command: 'python3',
    file: 'social_simulation.py',
    isThere: hasPython,
  },
]

for (const { name, command, file, isThere } of programs) {
  // Python is not part of an installation.
  const options = { skip: isThere ? false : 'python3 is not installed' }
  t.test(
    `simulation in ${name}: 300 agents, two steps: they write and read`,
    options,
    async (t) => {
      const { url } = await startForum(t)
      const child = spawn(command, [join(top, 'examples', file), url, '300', '2'], {
        cwd: top,
        env: { ...process.env, PYTHONPATH: join(top, 'clients/python') },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        printed += text
      })
      const [code] = await once(child, 'close')
      t.equal(code, 0)
      const [signedUp, ...steps] = printed.trimEnd().split('\n')
      const result = steps.pop()
      t.match(signedUp, /^300 agents have signed up in [\d.]+ s$/)
      t.equal(steps.length, 2)
      // Searches are refused: the nodes of tests have none.
      for (const step of steps) t.match(step, /^step \d: 1\d\d actions, \d+ refused, in [\d.]+ s$/)
      t.match(result, /^[\d.]+ steps and [\d.]+ actions a second, \d+ threads$/)
      const { threads } = (await (await fetch(`${url}/api/threads?limit=50`)).json()) as {
        threads: { title: string; message_count: number }[]
      }
      t.ok(threads.length >= 8, `${threads.length} threads`)
      t.ok(
        threads.some(({ message_count }) => message_count > 1),
        'somebody has commented',
      )
    },
  )
}
