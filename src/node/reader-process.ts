// The program of a reader (reader.ts). The main process starts it with a socket as descriptor 3,
// and ends it through that socket. The reader ignores signals, which a terminal sends to all
// processes: the main process handles them.

import { Socket } from 'node:net'
import { JournalError, messageOf } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'
import { letHeapGrow } from '../base/process.ts'
import { LineOutput } from '../operators/ops/line-output.ts'
import { openLog } from '../operators/ops/log.ts'
import { runReader } from './reader.ts'

const mainDescriptor = 3

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

/** Ends the process. The main process then starts another reader (reader.ts, R4). */
function fail(error: Error): void {
  const isExpected = error instanceof JournalError || error instanceof ConfigError
  const why = isExpected ? messageOf(error) : (error.stack ?? messageOf(error))
  new LineOutput(2).end(`agent-forum: a reader cannot continue: ${why}\n`)
  process.exit(1)
}

process.on('uncaughtException', fail)
letHeapGrow()
runReader(new Socket({ fd: mainDescriptor }), {
  openLog: ({ reader, texts }) =>
    openLog(texts['log-level'], texts['log-format']).log.child({ reader }),
  fail,
  exit: () => process.exit(0),
})
