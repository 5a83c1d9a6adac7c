// Shows the progress of a run. On a terminal, that is a bar with the rate, the latencies and the
// errors of the last second; elsewhere it is a line every few seconds. Each phase leaves one line
// behind, so that the output is a log of the run.

import { performance } from 'node:perf_hooks'
import cliProgress from 'cli-progress'
import { type Interval, intervalInWords, Meter } from './meter.ts'

const plainLineMs = 5000

/** `end` takes what the phase has resulted in, for its line. */
export type Phase = { tick: () => void; end: (result?: string) => void }

/** The part of a stream that progress needs; process.stderr is one. */
export type Output = { write: (text: string) => unknown; isTTY?: boolean }

export const grouped = (count: number): string => count.toLocaleString('en-US')

/** `1 thread`, `2,000 threads`. */
export const groupedCount = (count: number, noun: string): string =>
  `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`

/** `seconds` has the durations of finished phases, `meter` the measurements by the second. */
export class Progress {
  readonly seconds: Record<string, number> = {}
  readonly meter = new Meter()
  #last: Interval | null = null
  readonly #output: Output
  #stop: () => void = () => {}

  constructor(output: Output) {
    this.#output = output
    this.meter.watchers.push((interval) => {
      this.#last = interval
    })
  }

  say(line: string): void {
    this.#output.write(`${line}\n`)
  }

  // Begins a phase of `total` steps, or of an unknown number (null); the caller ends it before the
  // next one. `unit` is what a step handles, in the plural.
  phase(name: string, total: number | null, unit = ''): Phase {
    const startedAt = performance.now()
    let done = 0
    this.meter.phase = name
    const of = total === null ? '' : ` of ${grouped(total)}`
    const units = unit === '' ? '' : ` ${unit}`
    const showProgress = () => this.say(`${name}: ${grouped(done)}${of}${units}${this.#now(' ')}`)
    const moved = this.#output.isTTY ? this.#bar(name, total, units) : this.#plain(showProgress)
    return {
      tick: () => moved(++done),
      end: (result = '') => {
        this.stop()
        const seconds = (performance.now() - startedAt) / 1000
        this.seconds[name] = (this.seconds[name] ?? 0) + seconds
        this.say(`${name}: ${grouped(done)}${units} in ${seconds.toFixed(1)} s${result}`)
      },
    }
  }

  // Removes the bar or timer, even in the middle of a phase.
  stop(): void {
    this.#stop()
    this.#stop = () => {}
  }

  /** Returns the measurements of the last second in words, or '' before the first one is over. */
  #now(before: string): string {
    return this.#last === null ? '' : `${before}(${intervalInWords(this.#last)})`
  }

  #bar(name: string, total: number | null, units: string): (done: number) => void {
    const share = total === null ? '{value}' : '{bar} {percentage}% {value}/{total}'
    const bar = new cliProgress.SingleBar({
      format: `${name} ${share}${units} {duration_formatted} {now}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      clearOnComplete: true,
      // The library's handler would swallow the first interrupt, and there is nothing to restore.
      gracefulExit: false,
      linewrap: true,
      barsize: 20,
      stream: this.#output as NodeJS.WritableStream,
    })
    bar.start(total ?? 0, 0, { now: '' })
    this.#stop = () => bar.stop()
    return (done) => bar.update(done, { now: this.#now('') })
  }

  #plain(showProgress: () => void): () => void {
    const timer = setInterval(showProgress, plainLineMs)
    this.#stop = () => clearInterval(timer)
    return () => {}
  }
}
