// The panels of what runs beside a node's process: its readers, and the nodes that follow or lead.
// They are there only where these are.

import type { Panel } from './panel.ts'
import type { Status } from './status.ts'
import { bytes, count, latency, percent, rate } from './units.ts'

export function readers({ readers, latest }: Status): Panel[] {
  if (readers === null) return []
  const { configured, serving, restarts, behind_records, resident_bytes } = readers
  const isBad = serving < configured
  return [
    {
      id: 'readers',
      title: 'Readers',
      facts: [
        { name: 'Serve', value: `${count(serving)} of ${count(configured)}`, isBad },
        { name: 'Records that the slowest is behind', value: count(behind_records) },
        { name: 'Requests a second passed on', value: rate(latest.readers_forwarded ?? 0) },
        { name: 'Memory, together', value: bytes(resident_bytes) },
        { name: 'Processor, together', value: percent(latest.readers_cpu ?? 0) },
        { name: 'Started again', value: count(restarts) },
      ],
      chart: {
        title: 'Records that the slowest reader is behind',
        unit: count,
        lines: [{ label: 'records', column: 'readers_behind' }],
      },
    },
  ]
}

export function replication({ replication }: Status): Panel[] {
  if (replication === null) return []
  const { role, term, lag_positions, lag_seconds, takeovers, fenced, forwarded } = replication
  const lag = role === 'leader' ? 'Records that the stream lacks' : 'Records behind the stream'
  return [
    {
      id: 'replication',
      title: 'Replication',
      facts: [
        { name: 'Role', value: role },
        { name: 'Term', value: count(term) },
        { name: lag, value: count(lag_positions) },
        { name: 'Missing for', value: latency(lag_seconds) },
        { name: 'Requests passed on to the leader', value: count(forwarded) },
        { name: 'Took over since the start', value: count(takeovers) },
        { name: 'Replaced by another since the start', value: count(fenced) },
      ],
      chart: { title: lag, unit: count, lines: [{ label: 'records', column: 'lag' }] },
    },
  ]
}
