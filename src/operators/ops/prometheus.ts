// Renders instruments in the text format of Prometheus (version 0.0.4).

import type { Delays, Distribution, Instrument, Sample } from './instrument.ts'
import { instruments } from './instruments/list.ts'
import type { Vitals } from './vitals.ts'

/** Returns all metrics. Reading them changes nothing, so there may be any number of readers. */
export function metrics(vitals: Vitals, delays: Delays): string {
  return instruments.map((instrument) => familyOf(instrument, vitals, delays)).join('')
}

/** Returns the family of an instrument, or '' if it has none or the node lacks what it measures. */
export function familyOf(instrument: Instrument, vitals: Vitals, delays: Delays): string {
  const { kind, name, help, read } = instrument
  if (kind === 'figure') return ''
  const reading = read(vitals, delays)
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
