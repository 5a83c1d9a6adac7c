// The table of docs/metrics.md, derived from the instruments (src/operators/ops/instrument.ts).

import { type Instrument, LoopDelay } from '../../src/operators/ops/instrument.ts'
import { instruments } from '../../src/operators/ops/instruments/list.ts'
import { vitalsOfAll } from '../operators/ops/vitals.ts'
import { table } from './generated.ts'

type Column = NonNullable<Instrument['columns']>[number]

const growth = { value: '', rate: ' a second', change: ' in that second', p50: '', p99: '' }

export function metricsTable(): string {
  const known = instruments.filter(({ name, status, columns }) => name || status || columns)
  const rows = known.map((instrument) => {
    const { name, kind, help, status, limit, columns = [] } = instrument
    const labels = labelsOf(instrument)
    const braced = labels.length === 0 ? '' : `{${labels.join()}}`
    const each = kind !== 'gauge' && labels.length > 0 ? `:${labels[0]!.toUpperCase()}` : ''
    const written = ({ name, as = 'value' }: Column) =>
      `\`${name}\`${each === '' ? '' : `, \`${name}${each}\``}${growth[as]}`
    return [
      name === '' ? '' : `\`${name}${braced}\`${kind === 'histogram' ? ' (buckets)' : ''}`,
      help,
      [
        ...(status === undefined
          ? []
          : [`\`${status}\`${limit === undefined ? '' : ' *with limit*'}`]),
        ...(columns.length === 0 ? [] : [`column ${columns.map(written).join(', ')}`]),
      ].join('; '),
    ]
  })
  return table(['metric', 'what it is', 'in `/status.json`'], rows)
}

/** Returns the names of the labels, as shown by a node that has everything. */
function labelsOf(instrument: Instrument): string[] {
  const loopDelay = new LoopDelay()
  const reading = instrument.read(vitalsOfAll(), loopDelay)
  loopDelay.stop()
  const [first] = Array.isArray(reading) ? reading : []
  return Object.keys(first?.labels ?? {})
}
