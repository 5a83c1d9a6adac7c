// The log: JSON lines by pino, one for each event, to standard output.

import pino, { type Logger } from 'pino'
import type { Notice } from '../../wal/journal/journal.ts'
import { LineOutput } from './line-output.ts'

export interface Log {
  log: Logger
  output: LineOutput
}

/** The log of this process, from `level` up. */
export function openLog(level: string): Log {
  const output = new LineOutput(1, droppedLine)
  return { log: pino({ level, base: null }, output), output }
}

/** Writes the notices of the journal and its checkpoints. */
export function logNotices(log: Logger): (notice: Notice) => void {
  return ({ event, level = 'info', ...fields }) => log[level](fields, event)
}

function droppedLine(lines: number): string {
  const { warn } = pino.levels.values
  const time = pino.stdTimeFunctions.epochTime() // `,"time":…`
  return `{"level":${warn}${time},"lines":${lines},"msg":"log_lines_dropped"}\n`
}
