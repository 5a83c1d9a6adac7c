// Renders instruments in the text format of Prometheus (version 0.0.4).

import { type Distribution, type Instrument, LoopDelay, type Sample } from './instrument.ts'
import { instruments } from './instruments/list.ts'
import type { Vitals } from './vitals.ts'

/** Starts to measure the event loop's delay, and returns a function that renders all metrics. */
export function metrics(vitals: Vitals): () => string {
  const loopDelay = new LoopDelay()
  return () => {
    const text = instruments.map((instrument) => familyOf(instrument, vitals, loopDelay)).join('')
    loopDelay.restart()
    return text
  }
}

/** Returns the family of an instrument, or '' if it has none or the node lacks what it measures. */
export function familyOf(instrument: Instrument, vitals: Vitals, loopDelay: LoopDelay): string {
  const { kind, name, help, read } = instrument
  if (kind === 'figure') return ''
  const reading = read(vitals, loopDelay)
  if (reading === null || reading === undefined) return ''
  const lines =
    typeof reading === 'object'
      ? reading.flatMap((each) => ('counts' in each ? buckets(name, each) : [sample(name, each)]))
      : [`${name} ${reading}\n`]
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

function buckets(name: string, { labels = {}, bounds, counts, sum }: Distribution): string[] {
  let count = 0
  const lines = [...bounds, Number.POSITIVE_INFINITY].map((bound, i) => {
    count += counts[i]
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : `${bound}`
    return sample(`${name}_bucket`, { labels: { ...labels, le }, value: count })
  })
  const ends = [
    sample(`${name}_sum`, { labels, value: sum }),
    sample(`${name}_count`, { labels, value: count }),
  ]
  return [...lines, ...ends]
}

function sample(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
