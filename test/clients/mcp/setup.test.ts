// agent-forum mcp setup: what it enters and into which files, and that it changes nothing else in
// them.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import fc from 'fast-check'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { byNpx } from '../../../src/cli/own-command.ts'
import { type ClientName, clientNames, mcpClients } from '../../../src/clients/mcp/setup/clients.ts'
import { addToJson, addToToml } from '../../../src/clients/mcp/setup/config-text.ts'
import { startForum } from '../../api/harness.ts'
import { program } from '../../api/process.ts'
import { isLinear } from '../../linear.ts'

/** Files as the clients write them, with entries for other servers. */
const written: Record<ClientName, string> = {
  'claude-code': `{
  "numStartups": 184,
  "tipsHistory": { "new-user-warmup": 3 },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_TOKEN": "ghp_x" }
    }
  },
  "projects": { "/srv/a \\"b\\"": { "mcpServers": {}, "history": ["}", "\\\\"] } }
}
`,
  codex: `# how I like it
model = "gpt-5-codex"

[mcp_servers.docs]
command = "docs" # a comment
args = [
  "--stdio",
]

[tools]
web_search = true`,
  gemini: '{"security":{"auth":{"selectedType":"oauth-personal"}}}\n',
  cursor: '{\r\n\t"mcpServers": {}\r\n}\r\n',
  vscode: `{
    "inputs": [],
    "servers": { "web": { "type": "http", "url": "https://mcp.example" } }
}`,
}

class Home {
  readonly path = mkdtempSync(join(tmpdir(), 'agent-forum-setup-'))

  constructor(t: Test) {
    t.teardown(() => rmSync(this.path, { recursive: true }))
  }

  file(name: ClientName): string {
    const machine = { home: this.path, platform: process.platform, environment: {} }
    return mcpClients(machine).find((each) => each.name === name)!.file
  }

  write(name: ClientName, text = written[name]): string {
    mkdirSync(dirname(this.file(name)), { recursive: true })
    writeFileSync(this.file(name), text)
    return this.file(name)
  }

  setup(...args: string[]) {
    const env = { PATH: process.env.PATH, HOME: this.path }
    const all = [program, 'mcp', 'setup', ...args]
    const { status, stdout, stderr } = spawnSync(process.execPath, all, { env, encoding: 'utf8' })
    return { code: status, stdout, stderr }
  }

  /** Returns the forum's entry in the file of a client. */
  entry(name: ClientName, entry = 'forum') {
    const text = readFileSync(this.file(name), 'utf8')
    // biome-ignore lint/suspicious/noExplicitAny: whatever the file holds
    const whole: any = name === 'codex' ? parse(text) : JSON.parse(text)
    return (whole.mcpServers ?? whole.mcp_servers ?? whole.servers)[entry]
  }
}

t.test('setup: files of each client: the entry is added, and nothing else changes', async (t) => {
  const home = new Home(t)
  for (const name of clientNames) chmodSync(home.write(name), 0o640)
  const { code, stdout, stderr } = home.setup('--url', 'http://forum.lab:8787')
  t.strictSame([code, stderr], [0, ''])
  for (const name of clientNames) {
    const file = home.file(name)
    t.match(stdout, `: added "forum" to ${file}; restart `)
    const text = readFileSync(file, 'utf8')
    t.ok(isInsertion(written[name], text), `${name}: ${text}`)
    t.equal(statSync(file).mode & 0o777, 0o640)
    t.match(home.entry(name), {
      command: process.execPath,
      args: [
        ...[program, 'mcp', '--url', 'http://forum.lab:8787'],
        ...['--identity', join(home.path, `.agent-forum-${name}.json`), '--name', String],
      ],
    })
    t.equal(home.entry(name).type, name === 'vscode' ? 'stdio' : undefined)
    t.same(
      readdirSync(dirname(file)).filter((each) => /\.[0-9a-f]{16}$/.test(each)),
      [],
    )
  }
  const texts = clientNames.map((name) => readFileSync(home.file(name), 'utf8'))
  const other = new Home(t)
  for (const name of clientNames) other.write(name)
  t.equal(other.setup('--url', 'http://other.lab:8787', '--entry', 'other').code, 0)
  for (const name of clientNames) {
    const file = readFileSync(other.file(name), 'utf8')
    t.match(file, `.agent-forum-${name}-other.json`, 'an identity is of one forum')
  }
  const again = home.setup('--url', 'http://forum.lab:8787')
  t.equal(again.code, 0)
  t.equal(again.stdout.match(/"forum" is in .* already\n/g)?.length, clientNames.length)
  t.same(
    clientNames.map((name) => readFileSync(home.file(name), 'utf8')),
    texts,
  )
  t.match(texts[0], /\n {4}\},\n {4}"forum": \{\n {6}"command"/)
  t.ok(texts[3]!.includes('\r\n\t\t"forum": {\r\n\t\t\t"command"'), texts[3])
})

t.test('setup: what it enters: a client starts it, and the forum answers', async (t) => {
  const { url } = await startForum(t)
  const home = new Home(t)
  home.write('claude-code')
  t.equal(home.setup('--url', url, '--name', 'ana').code, 0)
  const { command, args } = home.entry('claude-code')
  const client = new Client({ name: 'test', version: '1' })
  t.teardown(() => client.close())
  await client.connect(new StdioClientTransport({ command, args, env: {} }))
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} })
  t.match(structuredContent, { display_name: 'ana', kind: 'persistent' })
})

t.test('setup: one client, without a file: makes it, for its owner only', async (t) => {
  const home = new Home(t)
  t.match(home.setup(), { code: 65, stdout: /No MCP client was found; --client NAME .*Claude/s })
  for (const name of clientNames) {
    t.match(home.setup('--client', name), { code: 0, stderr: '' })
    t.match(home.entry(name), { command: process.execPath })
    t.equal(statSync(home.file(name)).mode & 0o777, 0o600)
  }
  t.equal(home.setup('--client', 'codex', '--entry', 'other').code, 0)
  t.match([home.entry('codex'), home.entry('codex', 'other')], [{ args: Array }, { args: Array }])
})

t.test('setup: --print: shows the entry, and changes nothing', async (t) => {
  const home = new Home(t)
  home.write('codex')
  const { code, stdout } = home.setup('--print')
  t.equal(code, 0)
  const [head, ...lines] = stdout.split('\n\n')
  t.equal(head, `Codex: ${home.file('codex')}, at its end:`)
  t.match(parse(lines.join('\n\n')), { mcp_servers: { forum: { command: process.execPath } } })
  t.match(
    home.setup('--print', '--client', 'gemini').stdout,
    /settings.json, in the object "mcpServers":\n\n"forum": \{/,
  )
  t.notOk(existsSync(home.file('gemini')))
  t.equal(readFileSync(home.file('codex'), 'utf8'), written.codex)
})

t.test('setup: a file that is not understood: left as it is, with what to add', async (t) => {
  const cases: [ClientName, string | Uint8Array, RegExp][] = [
    ['gemini', '{\n  // mine\n  "theme": "dark"\n}\n', /is not plain JSON: it has comments/],
    ['gemini', '{"theme": "dark",}', /is not plain JSON/],
    ['gemini', '{"theme": "dark"', /is not plain JSON/],
    ['gemini', '[]', /does not hold an object/],
    ['gemini', '{"mcpServers": []}', /has a "mcpServers" that is not an object/],
    ['gemini', '{"mcpServers": {}, "mcpServers": {}}', /has "mcpServers" more than once/],
    [
      'gemini',
      `{"a": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      /is nested too deeply to be checked/,
    ],
    ['gemini', new Uint8Array([0x7b, 0xff, 0x7d]), /cannot be used/],
    ['codex', 'model = \n', /is not TOML/],
    ['codex', 'mcp_servers = { a = { command = "x" } }\n', /in a form to which no table can be/],
    ['codex', 'mcp_servers = 1\n', /has "mcp_servers" that is not a table/],
  ]
  for (const [name, content, says] of cases) {
    const home = new Home(t)
    const file = home.write(name)
    writeFileSync(file, content)
    const { code, stdout, stderr } = home.setup()
    t.strictSame([code, stderr], [65, ''], String(says))
    t.match(stdout, says)
    t.match(stdout, /, and was left as it is\. Add this yourself, .*:\n\n.*forum.*command/s)
    t.same(readFileSync(file), Buffer.from(content))
  }
})

t.test('setup: an entry for another node: left as it is, and shown what replaces it', async (t) => {
  const home = new Home(t)
  for (const name of ['codex', 'gemini'] as const) {
    const file = home.write(name)
    t.equal(home.setup('--client', name, '--url', 'http://forum.lab:8787').code, 0)
    const before = readFileSync(file, 'utf8')
    const { code, stdout, stderr } = home.setup('--client', name, '--url', 'http://other.lab')
    t.strictSame([code, stderr], [65, ''])
    const [sentence, empty, ...shown] = stdout.split('\n')
    const title = { codex: 'Codex', gemini: 'Gemini CLI' }[name]
    t.equal(
      sentence,
      `${title}: ${file} has an entry "forum" for http://forum.lab:8787; \
replace it with the following, or choose another name with --entry NAME:`,
    )
    t.equal(empty, '')
    t.match(shown.join('\n'), /^(?:\[mcp_servers\.forum\]|"forum": \{)\n.*"http:\/\/other\.lab"/s)
    t.equal(readFileSync(file, 'utf8'), before)
  }
  home.write('gemini', '{"mcpServers": {"forum": {"command": "x", "args": ["--url"]}}}')
  const foreign = home.setup('--client', 'gemini')
  t.match(foreign, { code: 65, stdout: /has an entry "forum"; replace it with the following/ })
})

t.test('setup: flags that cannot be used: one line, exit 64, nothing written', async (t) => {
  const home = new Home(t)
  home.write('codex')
  for (const [args, says] of [
    [
      ['--client', 'curser'],
      /--client takes claude-code, .*\(did you mean cursor\?\); try mcp setup/,
    ],
    [['--entry', 'a b'], /--entry takes a letter/],
    [['--url', 'localhost'], /--url takes the origin of a node/],
    [['--prnt'], /unknown flag --prnt \(did you mean --print\?\); try mcp setup --help/],
  ] as const) {
    const { code, stdout, stderr } = home.setup(...args)
    t.strictSame([code, stdout], [64, ''])
    t.match(stderr, says)
  }
  t.equal(readFileSync(home.file('codex'), 'utf8'), written.codex)
})

t.test(
  'setup: a file behind a link: changed where it is; one that leads nowhere: left',
  async (t) => {
    const home = new Home(t)
    const dotfiles = join(home.path, 'dotfiles.json')
    writeFileSync(dotfiles, '{}')
    symlinkSync(dotfiles, home.file('claude-code'))
    t.equal(home.setup().code, 0)
    t.match(JSON.parse(readFileSync(dotfiles, 'utf8')), { mcpServers: { forum: {} } })
    rmSync(dotfiles)
    t.match(home.setup('--client', 'claude-code'), { code: 65, stdout: /cannot be used \(ENOENT/ })
    t.notOk(existsSync(dotfiles))
  },
)

t.test('setup: started by npx: names what npx installs, not its cache', async (t) => {
  const { path } = new Home(t)
  const cache = join(path, '_npx', '23690937d38ab73d')
  const file = join(cache, 'node_modules/agent-forum/dist/agent-forum/cli/main.js')
  const npm_execpath = join(path, 'npm-cli.js')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(npm_execpath, '')
  const of = (version: string) => {
    const manifest = { dependencies: { 'agent-forum': version } }
    writeFileSync(join(cache, 'package.json'), JSON.stringify(manifest))
    return byNpx(file, { npm_execpath })
  }
  const words = (spec: string) => {
    return [
      process.execPath,
      npm_execpath,
      'exec',
      '--yes',
      `--package=${spec}`,
      '--',
      'agent-forum',
    ]
  }
  t.same(of('file:../../lab/agent-forum.tgz'), words(join(path, 'lab/agent-forum.tgz')))
  t.same(of('^0.1.0'), words('agent-forum@^0.1.0'))
  t.equal(byNpx(file, {}), null)
  t.equal(byNpx(program, { npm_execpath }), null)
})

const entry = { command: '/opt/a "b"', args: ['mcp', 'é\\'] }

t.test(
  'setup: any JSON: one insertion, the rest as it was, and a second time nothing',
  async () => {
    const member = fc.constantFrom('mcpServers', 'a', '__proto__', '"}', '\\', 'forums', 'é')
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), tie('object')),
      object: fc.array(fc.tuple(member, tie('value'))).map((all) => Object.fromEntries(all)),
    }))
    const section = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
    const file = fc
      .tuple(
        fc.array(fc.tuple(member, value)),
        section,
        fc.boolean(),
        fc.array(fc.tuple(member, value)),
      )
      .map(([before, servers, has, after]) => {
        const of = (all: [string, unknown][]) => all.filter(([key]) => key !== 'mcpServers')
        const all = [
          ...of(before),
          ...(has ? [['mcpServers', servers] as const] : []),
          ...of(after),
        ]
        return Object.fromEntries(all)
      })
    const indent = fc.constantFrom(undefined, 1, 2, 4, '\t')
    const lineEnd = fc.constantFrom('\n', '\r\n')
    fc.assert(
      fc.property(file, indent, lineEnd, fc.string(), (old, indent, lineEnd, name) => {
        const text = JSON.stringify(old, null, indent).replaceAll('\n', lineEnd)
        const servers = JSON.parse(text).mcpServers
        fc.pre(servers === undefined || !Object.hasOwn(servers, name))
        const edit = addToJson(text, 'mcpServers', name, entry)
        if (edit === 'present' || !('text' in edit)) throw new Error(JSON.stringify(edit))
        const whole = JSON.parse(edit.text)
        const { [name]: added, ...others } = whole.mcpServers
        if (JSON.stringify(added) !== JSON.stringify(entry)) throw new Error(edit.text)
        if (servers === undefined) delete whole.mcpServers
        else whole.mcpServers = others
        const same = JSON.stringify(whole) === JSON.stringify(JSON.parse(text))
        if (!same || !isInsertion(text, edit.text)) throw new Error(edit.text)
        return addToJson(edit.text, 'mcpServers', name, entry) === 'present'
      }),
    )
  },
)

t.test('setup: any TOML: one insertion, the rest as it was, a second time nothing', async () => {
  const leaf = fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.double({ noNaN: true }))
  const table = fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(fc.string())))
  const file = fc.tuple(
    fc.dictionary(fc.string(), fc.oneof(leaf, table)),
    fc.dictionary(fc.string(), table),
  )
  const ending = fc.constantFrom('', '\n', '# end', '\n\n', '\r\n')
  fc.assert(
    fc.property(file, fc.boolean(), ending, ([whole, servers], has, ending) => {
      fc.pre(!Object.hasOwn(servers, 'forum') && !Object.hasOwn(whole, 'mcp_servers'))
      const text = stringify(has ? { ...whole, mcp_servers: servers } : whole) + ending
      const edit = addToToml(text, 'mcp_servers', 'forum', entry)
      if (edit === 'present' || !('text' in edit)) throw new Error(JSON.stringify(edit))
      if (!edit.text.startsWith(text)) throw new Error(edit.text)
      return addToToml(edit.text, 'mcp_servers', 'forum', entry) === 'present'
    }),
  )
})

t.test('setup: a long configuration: takes time in proportion to its length', async (t) => {
  const texts = new Map(
    [625, 10_000].map((length) => {
      const history = '"\\\\'.repeat(length)
      const numbers = Array(length).fill(1)
      return [length, JSON.stringify({ history, mcpServers: {}, numbers })]
    }),
  )
  const add = (length: number) => addToJson(texts.get(length)!, 'mcpServers', 'forum', entry)
  t.match(add(10_000), { text: String })
  t.ok(isLinear(add, 2_500))
})

/** Returns whether a single insertion turns the old text into the new one. */
function isInsertion(old: string, text: string): boolean {
  let same = 0
  while (same < old.length && old[same] === text[same]) same += 1
  return text.length > old.length && text.endsWith(old.slice(same))
}
