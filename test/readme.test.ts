// The examples of the README and of the guides run unchanged, in order, on one node
// that is empty at first. They succeed, and print what is shown. The reader's machine is simulated
// as follows:
//
//   - the ports 8787 and 8443 are replaced by free ones, in commands and in outputs;
//   - `npm start`, `npm run swarm` and `agent-forum` run this build; a start whose output is shown
//     prints as it would on a terminal;
//   - the PATH has only the tools that the README names.

import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { program } from './api/process.ts'
import { freePort } from './free-port.ts'
import { type Example, examplesOf, Running, Shell, shapeOf } from './readme-examples.ts'

const top = join(import.meta.dirname, '../..')
const pages = ['docs/using.md', 'README.md', 'docs/load-testing.md', 'docs/shell.md'].concat([
  'docs/agents.md',
  'docs/operating.md',
  'docs/install.md',
])
const examples = pages.flatMap((page) => {
  const markdown = readFileSync(join(top, page), 'utf8')
  return examplesOf(markdown).map((example) => ({ page, ...example }))
})

/** Commands that install, build or test. Other tests cover them. */
const elsewhere = [
  'npm ci && npm test',
  'npm ci && npm run build:package',
  'npm install --global ./agent-forum-1.0.0.tgz',
  'agent-forum serve',
]
const tools = ['bash', 'curl', 'mkdir', 'openssl', 'tee']
const missing = tools.find((tool) => spawnSync(tool, ['--version']).error !== undefined)

/** Sets up a directory that has only the examples, and a PATH that has only the tools. */
function makeMachine(cwd: string, port: string): NodeJS.ProcessEnv {
  const bin = join(cwd, '.bin')
  mkdirSync(bin)
  for (const tool of tools) {
    symlinkSync(spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim(), join(bin, tool))
  }
  const node = process.execPath
  symlinkSync(node, join(bin, 'node'))
  const script = (name: string, text: string) =>
    writeFileSync(join(bin, name), `#!${join(bin, 'bash')}\n${text}\n`, { mode: 0o755 })
  script('agent-forum', `exec '${node}' '${program}' "$@"`)
  const swarm = `exec '${node}' '${program}' swarm --url http://127.0.0.1:${port} "\${@:4}"`
  script('npm', `[ "$1 $2" = 'run swarm' ] && ${swarm}; exit 64`)
  symlinkSync(join(top, 'examples'), join(cwd, 'examples'))
  return { PATH: bin, HOME: cwd }
}

/**
 * Flips a bit in the middle of the log's records, and removes the checkpoints, after which nothing
 * would be lost. Bytes between frames are zero, and skipped.
 */
function damage(cwd: string): void {
  const data = join(cwd, 'data')
  for (const name of readdirSync(data)) if (name.endsWith('.checkpoint')) rmSync(join(data, name))
  const file = join(data, '0000000001.wal')
  const bytes = readFileSync(file)
  const end = bytes.findLastIndex((byte) => byte !== 0)
  const at = bytes.findIndex((byte, i) => i >= end >> 1 && byte !== 0)
  bytes[at] ^= 0x01
  writeFileSync(file, bytes)
}

class Machine {
  readonly cwd = mkdtempSync(join(tmpdir(), 'agent-forum-readme-'))
  readonly env: NodeJS.ProcessEnv
  readonly shell: Shell
  readonly ports: Record<string, string>
  node: Running | null = null
  readonly others: { example: Example; running: Running }[] = []

  constructor(ports: Record<string, string>) {
    this.ports = ports
    this.env = makeMachine(this.cwd, ports['8787'])
    this.shell = new Shell(this)
  }

  /** Returns the text with the ports of this machine. */
  local(text: string): string {
    return text.replaceAll(/8787|8443/g, (port) => this.ports[port])
  }

  /**
   * Runs a command. If it shows deliveries or search results, it is repeated, a limited number of
   * times, until its output matches.
   */
  async run(command: string, shape: RegExp): Promise<{ output: string; code: number }> {
    const isLater = /\/deliveries|\/api\/search/.test(command)
    for (let left = isLater ? 100 : 1; ; left--) {
      const ran = await this.shell.run(this.local(command))
      if (left === 1 || shape.test(ran.output)) return ran
      await sleep(100)
    }
  }

  /** Stops the running node, and starts one with the flags in the command. */
  async startNode({ command, shown }: Example): Promise<string> {
    await this.node?.stop()
    const flags = command.split(' -- ')[1]?.split(' ') ?? []
    const isForPeople = shown.length > 0
    const format = ['--log-format', isForPeople ? 'text' : 'json']
    const all = ['serve', '--port', this.ports['8787'], ...format, ...flags]
    this.node = new Running(process.execPath, [program, ...all], this)
    const { node } = this
    const end = isForPeople ? 'Ctrl-C\n' : '"started"}\n'
    await node.until('the start of the node', (output) => output.includes(end))
    if (!isForPeople) return ''
    return `${node.output.replaceAll(program, './dist/agent-forum/cli/main.js').trimEnd()}\n`
  }

  /** Starts a program that keeps running. Its output is compared at the end. */
  async startOther(example: Example): Promise<void> {
    const [file, ...args] = this.local(example.command).split(' ')
    const port = args.length < 3 ? [this.ports['8443']] : []
    const running = new Running(join(this.env.PATH!, file), [...args, ...port], this)
    this.others.push({ example, running })
    await running.until('a receiver that listens', (output) => output.includes('listening'))
  }

  async stop(): Promise<void> {
    await Promise.all([this.shell.stop(), this.node?.stop('SIGKILL')])
    await Promise.all(this.others.map(({ running }) => running.stop()))
    rmSync(this.cwd, { recursive: true })
  }
}

// The examples need curl and openssl, which the README lists.
const skip = missing === undefined ? false : `${missing} is not installed`
t.setTimeout(300_000) // the examples run a whole swarm
t.test('README and guides: every example: prints what is shown', { skip }, async (t) => {
  const machine = new Machine({ 8787: `${await freePort()}`, 8443: `${await freePort()}` })
  t.teardown(() => machine.stop())
  for (const example of examples) {
    const { command, page, line } = example
    const shown = example.shown.map((each) => machine.local(each))
    const where = `${page}:${line}: ${command.split('\n')[0]}`
    if (elsewhere.includes(command)) continue
    if (/^(npm ci && )?npm start/.test(command)) {
      const printed = await machine.startNode(example)
      t.match(printed, printed === '' ? '' : shapeOf(shown), where)
    } else if (command.startsWith('node examples/')) await machine.startOther(example)
    else {
      if (command.startsWith('agent-forum wal repair')) {
        await machine.node!.stop()
        damage(machine.cwd)
      }
      const { output, code } = await machine.run(command, shapeOf(shown))
      t.match(output, shapeOf(shown), where)
      t.equal(code, 0, where)
    }
  }
  for (const { example, running } of machine.others) {
    const shape = shapeOf(example.shown.map((each) => machine.local(each)))
    await running.until(`what line ${example.line} shows`, (output) => shape.test(output))
    t.match(running.output, shape, `line ${example.line}: ${example.command}`)
  }
})

t.test('examples: blocks with a language: skipped, the next one is read', async (t) => {
  const markdown = '```nginx\nlisten 80;\n```\n\n```\n$ echo 1\n1\n```\n'
  t.same(examplesOf(markdown), [{ line: 6, command: 'echo 1', shown: ['1'] }])
})

t.test('shapes: another number, id or elided part: fits; another name or value: not', async (t) => {
  const shape = shapeOf(['{"id":"agt_0f8c…","seq":4,"replayed":false,…}', '…', 'in 2 segments'])
  t.match('{"id":"agt_77","seq":51,"replayed":false,"x":1}\nany\nin 1,024   segments\n', shape)
  t.match('{"id":"agt_77","seq":5,"replayed":false,}\nin 1 segments\n', shape)
  for (const other of [
    '{"id":"thr_77","seq":5,"replayed":false,}\nin 1 segments\n',
    '{"id":"agt_77","seq":5,"replayed":true,}\nin 1 segments\n',
    '{"id":"agt_77","replayed":false,}\nin 1 segments\n',
    '{"id":"agt_77","seq":5,"replayed":false,}\nin 1 segments\nmore\n',
    '{"id":"agt_77","seq":5,"replayed":false,}\nin 1 segments',
  ]) {
    t.notMatch(other, shape, other)
  }
})
