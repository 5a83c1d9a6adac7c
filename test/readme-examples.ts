// The examples of a document. They are read from its code blocks, run unchanged, and compared with
// the outputs that the document shows.
//
// E1. A code block without a language begins with a command after `$ `. A line that ends with a
//     backslash continues on the next one. The lines up to the next command are the output.
// E2. An output must have the shape that is shown: numbers and hexadecimal ids may differ, `…`
//     stands for any text, and a line that is only `…` for any lines. Everything else is compared
//     exactly.

import { type ChildProcess, spawn } from 'node:child_process'

export interface Example {
  /** The line number of the command in the document. */
  line: number
  command: string
  shown: string[]
}

/** Returns the examples of a Markdown document, in order. Throws if a block has no command. */
export function examplesOf(markdown: string): Example[] {
  const examples: Example[] = []
  let example: Example | null = null
  let block: 'none' | 'examples' | 'other' = 'none'
  for (const [i, text] of markdown.split('\n').entries()) {
    if (text.startsWith('```')) {
      if (block !== 'none') block = 'none'
      else block = text === '```' ? 'examples' : 'other'
      example = null
    } else if (block !== 'examples') continue
    else if (text.startsWith('$ ')) {
      example = { line: i + 1, command: text.slice('$ '.length), shown: [] }
      examples.push(example)
    } else if (example === null) throw new Error(`line ${i + 1}: a block without a command`)
    else if (example.command.endsWith('\\')) example.command += `\n${text}`
    else example.shown.push(text)
  }
  return examples
}

/** Returns a pattern that matches an entire output of the shape that is shown. */
export function shapeOf(shown: readonly string[]): RegExp {
  const lines = shown.map((line) => (line === '…' ? '(?:.*\n)*' : `${lineShape(line)}\n`))
  return new RegExp(`^${lines.join('')}$`)
}

/** Parts that may vary: elided text, prefixed ids, hexadecimal ids, numbers, and column widths. */
const varying =
  /…|\b(agt|thr|msg|gov|evt|whk|aic|tkt|whsec)_[\w.-]+|\b(?=[a-f]*\d)[\da-f]{8,}\b|\d[\d,.]*| +/g

function lineShape(line: string): string {
  let shape = ''
  let end = 0
  for (const { 0: part, 1: prefix, index } of line.matchAll(varying)) {
    shape += escaped(line.slice(end, index))
    end = index + part.length
    if (part === '…') shape += '.*'
    else if (prefix !== undefined) shape += `${prefix}_[\\w.-]+`
    else if (part.startsWith(' ')) shape += ' +'
    else shape += /^[\da-f]{8,}$/.test(part) ? '[\\da-f]+' : '\\d[\\d,.]*'
  }
  return shape + escaped(line.slice(end))
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Longer than any command takes, unless it hangs. */
const patienceMs = 120_000

/** No process outlives the test that started it, however that test ends. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A process whose output is collected, in the directory and environment of the examples. */
export class Running {
  output = ''
  readonly child: ChildProcess
  #changed: () => void = () => {}

  constructor(
    file: string,
    args: readonly string[],
    options: { cwd: string; env: NodeJS.ProcessEnv },
  ) {
    const { cwd, env } = options
    this.child = spawn(file, args, { cwd, env, stdio: 'pipe' })
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text
        this.#changed()
      })
    }
    running.add(this.child)
    this.child.once('close', () => {
      running.delete(this.child)
      this.#changed()
    })
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** Resolves when `isEnough` holds for the output. Rejects if the process ends or hangs. */
  async until(what: string, isEnough: (output: string) => boolean): Promise<void> {
    const deadline = setTimeout(() => this.child.kill('SIGKILL'), patienceMs)
    try {
      while (!isEnough(this.output)) {
        if (this.hasEnded) throw new Error(`waited for ${what} after ${this.output.slice(-1000)}`)
        await new Promise<void>((resolve) => {
          this.#changed = resolve
        })
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Sends the signal if the process is still running, and waits for its end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return
    const ended = new Promise((resolve) => this.child.once('close', resolve))
    this.child.kill(signal)
    await ended
  }
}

/**
 * A single bash that runs commands one after the other, so that later ones see the variables and
 * functions of earlier ones.
 */
export class Shell {
  readonly #bash: Running
  #commands = 0

  constructor(options: { cwd: string; env: NodeJS.ProcessEnv }) {
    this.#bash = new Running('bash', ['--noprofile', '--norc'], options)
  }

  /** Resolves to the exit code and the output, with a final newline unless it is empty. */
  async run(command: string): Promise<{ output: string; code: number }> {
    this.#commands += 1
    const mark = `-- end of command ${this.#commands}: `
    const start = this.#bash.output.length
    this.#bash.child.stdin!.write(`${command}\nprintf '\\n%s%d\\n' '${mark}' $?\n`)
    const end = new RegExp(`\n${mark}(\\d+)\n`)
    await this.#bash.until(`the end of ${command}`, (output) => end.test(output.slice(start)))
    const found = end.exec(this.#bash.output.slice(start))!
    const printed = this.#bash.output.slice(start, start + found.index)
    // curl prints no final newline.
    const output = printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`
    return { output, code: Number(found[1]) }
  }

  stop(): Promise<void> {
    return this.#bash.stop('SIGKILL')
  }
}
