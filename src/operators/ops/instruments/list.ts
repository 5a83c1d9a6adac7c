// All instruments, in the order in which operators see them. A test pins their names and fields,
// because programs rely on them.

import { by, gauge, type Instrument } from '../instrument.ts'
import { basics, content, eventLoop, memory } from './process.ts'
import { readers, replication, search } from './processes.ts'
import { requests, waiting } from './requests.ts'
import { checkpoints, coldText, disk, log } from './storage.ts'

const measured: readonly Instrument[] = [
  ...basics,
  ...requests,
  ...log,
  ...waiting,
  ...memory,
  ...content,
  ...eventLoop,
  ...checkpoints,
  ...disk,
  ...coldText,
  ...search,
  ...readers,
  ...replication,
]

const limits = gauge(
  'limit',
  'The limits that the flags set.',
  by('of', (vitals) => {
    const named = measured.flatMap(({ limit }) => (limit?.of === undefined ? [] : [limit]))
    return Object.fromEntries(named.map(({ of, read }) => [of!, read(vitals)]))
  }),
)

export const instruments: readonly Instrument[] = [...measured, limits]
