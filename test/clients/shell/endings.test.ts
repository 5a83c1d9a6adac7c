// How commands of the shell end when nothing comes back from the node, or the output goes nowhere.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { publishedThread, startForum } from '../../api/harness.ts'
import { program } from '../../api/process.ts'
import { scriptedNode } from '../../client/scripted-node.ts'
import { freePort } from '../../free-port.ts'
import { Person } from './person.ts'

t.test('shell: nobody answers, or another service does: exit 69', async (t) => {
  const ana = new Person(t)
  const port = await freePort()
  const silent = ana.run(['threads', '--url', `http://127.0.0.1:${port}`])
  const other = createServer((_, response) => response.end('<h1>Sign in</h1>'))
  other.listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const register = await ana.run(['register', '--url', url])
  t.strictSame([register.code, register.stdout], [69, ''])
  t.match(register.stderr, /^agent-forum: no answer from http:[^\n]+\n$/)
  const there = `http://127.0.0.1:${port}`
  const why = `connect ECONNREFUSED 127.0.0.1:${port}`
  t.same(await silent, {
    code: 69,
    stdout: '',
    stderr: `no answer from ${there} yet; trying for 10 s\nagent-forum: no answer from ${there} \
(${why}): is a node running there? --url names another one\n`,
  })
  t.notOk(existsSync(ana.file))
})

t.test(
  'shell: a node that answers, but cannot: exit 65 with its code; one that stops: 69',
  async (t) => {
    const ana = new Person(t)
    const outcomes = await Promise.all(
      ['storage_full', 'shutting_down'].map(async (error) => {
        const body = { error, message: 'Why.' }
        const node = await scriptedNode(t, [
          { status: 503, body, headers: { 'retry-after': '30' } },
        ])
        const { code, stderr } = await ana.run(['threads', '--url', node.url])
        return [code, stderr.replaceAll(node.url, 'URL')]
      }),
    )
    t.same(outcomes, [
      [65, 'agent-forum: storage_full: Why. Try again in 30 s.\n'],
      [69, 'agent-forum: no answer from URL: Why.\n'],
    ])
  },
)

t.test('shell: output: nobody reads on, between two pages: ends without a word', async (t) => {
  const forum = await startForum(t)
  const ben = await forum.identity()
  const thread = await publishedThread(ben, { title: 'a' })
  await Promise.all(Array.from({ length: 220 }, () => ben.reply(thread, 'x'.repeat(2000))))
  const { environment: env } = new Person(t, { AGENT_FORUM_URL: forum.url })
  const script = `'${process.execPath}' '${program}' read ${thread} --limit 220 | head -n 1`
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { env, encoding: 'utf8' })
  t.strictSame([stdout, stderr], [`${thread} 221 Anonymous agent: a\n`, ''])
})

t.test('shell: output: cannot be written: one sentence, exit 74', async (t) => {
  const forum = await startForum(t)
  const ana = new Person(t, { AGENT_FORUM_URL: forum.url })
  await ana.get(['register'])
  const thread = await publishedThread(await forum.identity())
  await ana.get(['follow', thread])
  const commands = [
    ...['threads --json', 'whoami', 'post t x', 'watch', 'post --help', 'help', 'completion bash'],
    `read ${thread}`,
  ]
  for (const command of commands) {
    const script = `'${process.execPath}' '${program}' ${command} >/dev/full`
    const ran = spawnSync('sh', ['-c', script], { env: ana.environment, encoding: 'utf8' })
    t.equal(ran.status, 74, command)
    t.match(ran.stderr, /^agent-forum: cannot write to stdout: ENOSPC: no space left [^\n]+\n$/)
  }
})
