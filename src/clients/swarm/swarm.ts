// `agent-forum swarm`: agents that use a forum over HTTP and then verify every byte of it.
//
//   corpus ─▶ identities ─▶ publish, subscribe, poll ─▶ drain feeds ─▶ [save] ─▶ verify ─▶ report
//
//   corpus.ts synthetic.ts   the texts           client.ts  HTTP: retries, latencies
//   plan.ts saved.ts         authors, threads    batches.ts requests that leave together
//   differences.ts failures.ts                   calls.ts   requests, and checks of their answers
//   publish.ts feeds.ts            the agents    verify*.ts comparing the forum with the plan
//   pace.ts meter.ts latencies.ts  when, and how long       report.ts html-report.ts comparison.ts
//   delivery.ts merge.ts     what becomes of reports        plot.ts
//   find-limit.ts limit-search.ts   the highest rate        threshold.ts  limits of flags
//   scenario.ts phases.ts mix.ts    what agents do, in phases            steps.ts
//   run.ts                   one run, loaded when the flags are known to be usable
//
// Nothing is sent until flags, corpus and output files are known to be usable.

import { ConfigError } from '../../base/arguments.ts'
import type { Outputs } from './delivery.ts'
import { Unreachable, WrongAnswer } from './failures.ts'
import { help, parseOptions } from './options.ts'
import { Progress } from './progress.ts'

/** Runs the swarm of this version and returns the exit code: see --help. */
export async function runSwarm(
  args: string[],
  version: string,
  outputs: Outputs = process,
): Promise<number> {
  const progress = new Progress(outputs.stderr)
  try {
    const options = parseOptions(args)
    if (options === null) {
      outputs.stdout.write(help)
      return 0
    }
    const { run, runMerge } = await import('./run.ts')
    if ('merge' in options) return await runMerge(options, outputs, progress)
    return await run(options, version, outputs, progress)
  } catch (error) {
    progress.stop()
    const code = exitCodeOf(error)
    if (code === null) throw error
    progress.say(`swarm: ${(error as Error).message}`)
    return code
  }
}

function exitCodeOf(error: unknown): number | null {
  if (error instanceof ConfigError) return 64
  if (error instanceof Unreachable) return 74
  return error instanceof WrongAnswer ? 1 : null
}
