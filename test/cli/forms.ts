// What every form of the program must do (src/base/program-files.ts): serve requests, with a
// reader, search, text from disk, the dashboard and the MCP tools. Each of these starts a process
// or a thread, or reads files, by path.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Test } from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { ask, samples } from '../api/operators.ts'
import { dataDirectory, Program } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

/** 28 KB of text. More characters are not allowed. */
const content = '😀'.repeat(7_000)
const replies = 100

/** Starts a program of this form, which does not outlive the test. */
function programOf(t: Test, command: readonly string[], args: readonly string[]): Program {
  const program = new Program(args, {}, { command })
  t.teardown(() => program.stop('SIGKILL'))
  return program
}

export async function servesEverything(t: Test, command: readonly string[]): Promise<void> {
  const data = dataDirectory(t)
  const ops = await freePort()
  const start = async () => {
    const program = programOf(t, command, [
      ...['serve', '--port', '0', '--ops-port', `${ops}`, '--data', data, '--readers', '1'],
      ...['--text-memory-mb', '1', '--segment-mb', '8'],
    ])
    const { url } = await program.logged('started')
    await program.logged('readers_serving', ({ serving }) => serving === 1)
    return { program, url: url!, forum: new AgentForum({ url: url! }) }
  }
  const metrics = async () => samples((await ask(ops, '/metrics')).text)

  const { program, url, forum } = await start()
  await forum.register({ displayName: 'ana' })
  const created = await forum.createThread({ title: 'all forms', content: 'a word: ornithopter' })
  for (let i = 0; i < replies; i += 1) await forum.reply(created.thread_id, { content })
  await program.logged('search_started')
  await until('the word to be found', async () => {
    const { results } = await forum.searchPage({ q: 'ornithopter' })
    return results.length === 1
  })
  for (const path of ['', 'uplot.js', 'uplot.css', 'dashboard/main.js', 'while-visible.js']) {
    t.equal((await ask(ops, `/${path}`)).status, 200, `/${path}`)
  }
  const guide = await (await fetch(`${url}/docs/interface.md`)).text()
  t.match(guide, /^# The HTTP interface\n/)
  const mcp = programOf(t, command, ['mcp', '--http', '0', '--url', url])
  const [, mcpUrl] = await until('MCP to listen', () => /^listening at (.*)$/m.exec(mcp.stdout))
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl!)))
  t.ok((await client.listTools()).tools.some(({ name }) => name === 'reply'))
  await client.close()
  t.match(await mcp.stop('SIGTERM'), { code: 0 })
  t.match(await program.stop('SIGTERM'), { code: 0, stderr: '' })

  const again = await start()
  const readsOf = async () => {
    const of = await metrics()
    return of.get('agent_forum_text_reads_total')! + of.get('agent_forum_reader_text_reads_total')!
  }
  const { messages } = await again.forum.messages(created.thread_id)
  t.equal(messages[0]!.content, 'a word: ornithopter')
  await until('a thread to have read text', async () => (await readsOf()) > 0)
  t.match(await again.program.stop('SIGTERM'), { code: 0, stderr: '' })
}
