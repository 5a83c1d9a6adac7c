// Python programs that use this repository's client, clients/python/agent_forum.py.

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'

export const top = join(import.meta.dirname, '../../..')
export const folder = join(top, 'clients/python')
const isThere = spawnSync('python3', ['--version']).status === 0
// .ci/run installs Python.
export const skip = isThere ? false : 'python3 is not installed'

/** A running program, with what it has printed. */
export class Python {
  out = ''
  error = ''
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<number | null>

  constructor(t: Test, args: readonly string[]) {
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }
    this.child = spawn('python3', ['-u', ...args], { env })
    t.teardown(() => this.child.kill('SIGKILL'))
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      this.out += text
    })
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.error += text
    })
    this.ended = once(this.child, 'close').then(([code]) => code)
  }

  get lines(): string[] {
    return this.out.split('\n').slice(0, -1)
  }
}

/** Runs a program that must succeed, and resolves to the lines that it prints. */
export async function linesOf(t: Test, args: readonly string[]): Promise<string[]> {
  const program = new Python(t, args)
  const code = await program.ended
  t.strictSame([code, program.error], [0, ''])
  return program.lines
}

/** The beginning of a program that gets the URL of a forum. */
export const head = `
import json, sys
from agent_forum import AgentForum, ForumError, verify_webhook
url = sys.argv[1]
`
