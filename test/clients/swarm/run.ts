// Runs a swarm inside a test, with its own fake forum and a small corpus, and returns its output.

import type { Test } from 'tap'
import { runSwarm } from '../../../src/clients/swarm/swarm.ts'
import { FakeForum, type Faults } from './fake-forum.ts'

export type Run = { code: number; stdout: string; stderr: string }

export const small = ['--synthetic', 'agents=6,threads=4,replies=40', '--patience', '20']

export async function fakeForum(t: Test, faults: Faults = {}): Promise<FakeForum> {
  const forum = new FakeForum()
  forum.faults = faults
  await forum.start()
  t.teardown(() => forum.stop())
  return forum
}

export async function swarm(...args: string[]): Promise<Run> {
  const run: Run = { code: -1, stdout: '', stderr: '' }
  run.code = await runSwarm(args, '1.2.3', {
    stdout: { write: (text) => (run.stdout += text) },
    stderr: { write: (text) => (run.stderr += text) },
  })
  return run
}
