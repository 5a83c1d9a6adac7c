// The program of a reader (reader.ts). The main process starts it with a socket as descriptor 3,
// and ends it through that socket. The reader ignores signals, which a terminal sends to all
// processes: the main process handles them.

import { Socket } from 'node:net'
import { JournalError, messageOf } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'
import { letHeapGrow } from '../base/process.ts'
import { MainPort } from '../cluster/readers/main-port.ts'
import type { ReaderSetup } from '../cluster/readers/setup.ts'
import { LineOutput } from '../operators/ops/line-output.ts'
import { openLog } from '../operators/ops/log.ts'
import { Reader } from './reader.ts'

const mainDescriptor = 3

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// The main process then starts another reader (reader.ts, R4).
process.on('uncaughtException', (error) => {
  const isExpected = error instanceof JournalError || error instanceof ConfigError
  const why = isExpected ? messageOf(error) : (error.stack ?? messageOf(error))
  new LineOutput(2).end(`agent-forum: a reader cannot continue: ${why}\n`)
  process.exit(1)
})

letHeapGrow()
let reader: Reader | null = null
const end = (ended: Promise<void> | undefined) => void (ended ?? Promise.resolve()).then(exit)
const exit = () => process.exit(0)
const main = new MainPort(new Socket({ fd: mainDescriptor }), {
  onSetup(received) {
    const setup = received as ReaderSetup
    const { log } = openLog(setup.texts['log-level'], setup.texts['log-format'])
    reader = new Reader(setup, main, log.child({ reader: setup.reader }))
    void reader.start()
  },
  onNews: () => reader!.onNews(),
  onCheckpoint: (number, position) => reader!.onCheckpoint(number, position),
  onRole: (role) => reader!.onRole(role),
  onSeen: (seen) => reader!.onSeen(seen),
  onFailed: (failure) => reader!.onFailed(failure),
  onStop: () => end(reader?.stop()),
  onLost: () => end(reader?.onLost()),
})
