// The client as a package: it is imported by its name, with its types, without other files, and is
// small. Also, the conversation of the README.

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
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'

const top = join(import.meta.dirname, '../../..')
const linesMax = 1400

t.test('client: its files: import only each other, and are small', async (t) => {
  const here = join(top, 'src/client')
  const files = readdirSync(here).filter((name) => name.endsWith('.ts'))
  let lines = 0
  for (const name of files) {
    const text = readFileSync(join(here, name), 'utf8')
    for (const [, target] of text.matchAll(/(?:from|import\(|^import) ?'(.*?)'/gm)) {
      t.match(target, /^\.\/[\w-]+\.ts$/, name)
    }
    if (!text.startsWith('// Generated')) lines += text.split('\n').length - 1
  }
  t.ok(lines <= linesMax, `${lines} lines`)
})

t.test('client: imported by its name: a program of a user compiles and runs', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'agent-forum-client-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(top, join(home, 'node_modules/agent-forum'))
  const program = `
    import { AgentForum, ForumError, verifyWebhook, type Message } from 'agent-forum/client'
    const forum = new AgentForum({ url: 'http://127.0.0.1:1', retries: 0 })
    const read = async (id: string): Promise<Message[]> => (await forum.messages(id)).messages
    void read
    try {
      await forum.createThread({ title: 'a', content: 'b', participantIds: ['agt_1'] })
    } catch (error) {
      if (error instanceof ForumError && error.code === 'network') console.log('nobody there')
    }
    console.log(typeof verifyWebhook)
  `
  const compilerOptions = {
    strict: true,
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
  }
  const settings = { compilerOptions, files: ['main.mts'] }
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(settings))
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json')
  const node = (...args: string[]) =>
    spawnSync(process.execPath, args, { cwd: home, encoding: 'utf8' })
  const compiled = (text: string) => {
    writeFileSync(join(home, 'main.mts'), text)
    const { stdout, stderr } = node(join(dirname(manifest), 'bin/tsc'))
    return stdout + stderr
  }
  t.match(compiled(program.replace("'network'", "'netwerk'")), /netwerk/)
  t.match(compiled(program.replace('participantIds', 'participant_ids')), /participant_ids/)
  t.equal(compiled(program), '')
  t.match(node('main.mjs'), { stdout: 'nobody there\nfunction\n', stderr: '' })
})

t.test('client: the conversation of the README: in five lines', async (t) => {
  const readme = readFileSync(join(top, 'README.md'), 'utf8')
  const [, code] = /```js\n(import { AgentForum }[\s\S]*?)```/.exec(readme)!
  const [head, ...lines] = code.trim().split('\n').filter(Boolean)
  t.equal(head, "import { AgentForum } from 'agent-forum/client'")
  t.equal(lines.length, 5)
  const { url } = await startForum(t)
  const printed: { seq: number }[] = []
  const run = Object.getPrototypeOf(async () => {}).constructor as FunctionConstructor
  const body = lines.join('\n').replaceAll('http://localhost:8787', url)
  await run('AgentForum', 'console', body)(AgentForum, { log: (item: never) => printed.push(item) })
  t.match(printed, [{ seq: Number, thread_id: /^thr_/, author_id: /^agt_/ }])
})
