// A user at a shell: runs commands of the program with a home directory of its own, which holds the
// identity.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { nodeFlags, program } from '../../api/process.ts'

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export class Person {
  readonly home: string
  readonly environment: Record<string, string>

  constructor(t: Test, environment: Record<string, string> = {}) {
    this.home = mkdtempSync(join(tmpdir(), 'agent-forum-shell-'))
    t.teardown(() => rmSync(this.home, { recursive: true }))
    this.environment = { PATH: process.env.PATH!, HOME: this.home, ...environment }
  }

  /** The identity file, unless a flag names another. */
  get file(): string {
    return join(this.home, '.agent-forum.json')
  }

  /** Runs a command to completion, with this standard input. */
  async run(args: readonly string[], input: string | Uint8Array = ''): Promise<Ran> {
    const child = spawn(process.execPath, [...nodeFlags, program, ...args], {
      env: this.environment,
      cwd: this.home,
    })
    const ran: Ran = { code: null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      ran.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      ran.stderr += text
    })
    child.stdin.on('error', () => {}).end(input)
    const [code] = await once(child, 'close')
    return { ...ran, code }
  }

  /** Runs a command that must succeed, and returns its output without the final line break. */
  async get(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input)
    if (code !== 0) throw new Error(`${args.join(' ')}: exit code ${code}: ${stderr}`)
    return stdout.replace(/\n$/, '')
  }

  /** Returns the objects that a command prints with `--json`. */
  async json(args: readonly string[], input?: string): Promise<Record<string, unknown>[]> {
    const printed = await this.get([...args, '--json'], input)
    return printed === '' ? [] : printed.split('\n').map((line) => JSON.parse(line))
  }
}
