// The node's log, written by pino to standard output: one line of JSON for each event, or lines for
// people who read it on a terminal.
//
//   {"level":40,"time":…,"variable":"AGENT_FORUM_PRT","msg":"unknown_environment_variable"}
//   12:38:26 warning: unknown_environment_variable variable=AGENT_FORUM_PRT
//
// P1. In lines for people, those of level info appear only after the greeting, and all others at
//     any time, so that people always see what is wrong.
// P2. A value that others may have chosen can neither control the terminal nor begin a line.
// P3. The newest lines of level warning and above are kept for the dashboard, by their names only:
//     values may be those of callers.

import { isatty } from 'node:tty'
import pino, { type Logger, type LoggerOptions } from 'pino'
import type { Notice } from '../../../wal/journal/journal.ts'
import { codeOf, hidden } from '../../base/text.ts'
import type { LogLine } from '../../people/browser/dashboard/status.ts'
import { LineOutput } from './line-output.ts'

export interface Log {
  log: Logger
  output: LineOutput
  /**
   * Writes the greeting of a node that serves; null if the log is for programs or lacks level info.
   */
  greet: ((text: string) => void) | null
}

/** Opens the log of this process, from `level` up, in a format of `--log-format`. */
export function openLog(level: string, format = 'json'): Log {
  if (format === 'text' || (format === 'auto' && isatty(1))) return openText(level)
  const output = new LineOutput(1, droppedLine)
  const log = pino({ level, base: null, hooks: keepingNewest(output) }, output)
  return { log, output, greet: null }
}

function openText(level: string): Log {
  const output = new LineOutput(1)
  let isGreeted = false
  const write = (json: string) => {
    const line = JSON.parse(json)
    if (isGreeted || line.level !== pino.levels.values.info) output.write(lineOf(line))
  }
  const timestamp = pino.stdTimeFunctions.isoTime
  const log = pino({ level, base: null, timestamp, hooks: keepingNewest(output) }, { write })
  const greet = (text: string) => {
    isGreeted = true
    output.write(text)
  }
  return { log, output, greet: log.isLevelEnabled('info') ? greet : null }
}

/** The number of lines that are kept (P3). */
const newestMax = 10

/** Returns the hooks of a log that keep its newest lines. */
function keepingNewest({ newest }: LineOutput): NonNullable<LoggerOptions['hooks']> {
  const { levels } = pino
  return {
    logMethod(args, method, level) {
      if (level >= levels.values.warn) {
        const at = Math.round(performance.timeOrigin + performance.now())
        const name = levels.labels[level] as LogLine['level']
        newest.unshift({ at, level: name, event: `${args.at(-1)}` })
        newest.length = Math.min(newest.length, newestMax)
      }
      method.apply(this, args)
    },
  }
}

const words: Record<number, string> = {
  [pino.levels.values.debug]: 'debug: ',
  [pino.levels.values.warn]: 'warning: ',
  [pino.levels.values.error]: 'error: ',
  [pino.levels.values.fatal]: 'fatal: ',
}

/** Formats a line for people; its time is in UTC. */
function lineOf({ level, time, msg, ...fields }: Record<string, unknown>): string {
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shownValue(value)}`)
  const line = `${`${time}`.slice(11, 19)} ${words[level as number] ?? ''}${msg}${shown.join('')}`
  return `${line.replaceAll(everyHidden, (char) => codeOf(char.codePointAt(0)!))}\n`
}

const everyHidden = new RegExp(hidden.source, 'gu')

function shownValue(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value
  return JSON.stringify(value)
}

/** Returns a function that logs the notices of the journal and its checkpoints. */
export function logNotices(log: Logger): (notice: Notice) => void {
  return ({ event, level = 'info', ...fields }) => log[level](fields, event)
}

function droppedLine(lines: number): string {
  const { warn } = pino.levels.values
  const time = pino.stdTimeFunctions.epochTime() // `,"time":…`
  return `{"level":${warn}${time},"lines":${lines},"msg":"log_lines_dropped"}\n`
}
