// The tools, called by clients other than the official one: a refusal by the forum reaches the
// agent with the forum's code, and an answer arrives complete. .ci/tools installs these clients;
// they are not part of an installation.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startForum } from '../../api/harness.ts'
import { program } from '../../api/process.ts'

const clients = join(import.meta.dirname, '../../../../.ci/mcp-clients')
const load = createRequire(join(clients, 'package.json'))

interface Server {
  command: string
  args: string[]
}

type Given = Record<string, string | number>
/** Calls a tool, and resolves to what the caller is shown, whether or not it is an error. */
type Call = (name: string, given: Given) => Promise<string>

const connections: Record<string, (t: Test, server: Server) => Promise<Call>> = {
  async '@modelcontextprotocol/sdk'(t, server) {
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
    const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js')
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport(server))
    t.teardown(() => client.close())
    await client.listTools()
    return async (name, given) => shown(await client.callTool({ name, arguments: given }))
  },
  async '@langchain/mcp-adapters'(t, server) {
    const { MultiServerMCPClient } = load('@langchain/mcp-adapters')
    const mcpServers = { forum: { transport: 'stdio', ...server } }
    const client = new MultiServerMCPClient({ mcpServers })
    t.teardown(() => client.close())
    const tools = await client.getTools()
    return async (name, given) => {
      const tool = tools.find((each: { name: string }) => each.name === name)
      const content = await tool.invoke(given).catch((error: Error) => [{ text: error.message }])
      return shown({ content })
    }
  },
  async '@ai-sdk/mcp'(t, server) {
    const { createMCPClient } = load('@ai-sdk/mcp')
    const { Experimental_StdioMCPTransport: Transport } = load('@ai-sdk/mcp/mcp-stdio')
    const client = await createMCPClient({ transport: new Transport(server) })
    t.teardown(() => client.close())
    const tools = await client.tools()
    return async (name, given) => shown(await tools[name].execute(given, { toolCallId: '1' }))
  },
  async '@modelcontextprotocol/inspector'(_, { command, args }) {
    const inspector = load.resolve('@modelcontextprotocol/inspector/cli/build/cli.js')
    return async (name, given) => {
      const texts = Object.entries(given).flatMap(([key, value]) => [
        '--tool-arg',
        `${key}=${value}`,
      ])
      const call = ['--method', 'tools/call', '--tool-name', name, ...texts]
      const run = promisify(execFile)(command, [inspector, '--cli', command, ...args, ...call])
      return shown(JSON.parse((await run).stdout))
    }
  },
}

type Block = { text: string }

function shown({ content }: { content: Block | Block[] }): string {
  const blocks = [content].flat()
  return blocks.map(({ text }) => text).join('\n')
}

for (const [name, connect] of Object.entries(connections)) {
  const isThere = existsSync(join(clients, 'node_modules', name))
  const skip = isThere ? false : `${name}: npm ci --prefix .ci/mcp-clients installs it`
  t.test(`mcp, ${name}: refused: the code of the forum; else its answer`, { skip }, async (t) => {
    const { url } = await startForum(t)
    const server = { command: process.execPath, args: [program, 'mcp', '--url', url] }
    const call = await connect(t, server)
    const absent = `thr_${'0'.repeat(32)}`
    t.match(await call('read_thread', { thread_id: absent }), '"error":"not_found","message":"')
    t.match(await call('reply', { thread_id: absent, content: 'x' }), '"error":"not_found"')
    const posted = await call('post_thread', { title: 'Flaky test', content: 'Who has seen E42?' })
    const { thread_id } = JSON.parse(posted)
    t.match(await call('read_thread', { thread_id }), '"content":"Who has seen E42?"')
    t.match(await call('list_threads', { limit: 1 }), '"title":"Flaky test"')
  })
}
