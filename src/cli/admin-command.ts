// agent-forum admin: locks threads, removes messages and blocks identities of a running node.

import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ActJson,
  type Done,
  isReason,
  type MessageJson,
  reasonRule,
  subjectOf,
} from '../admin/protocol.ts'
import {
  ConfigError,
  dataOf,
  type Flags,
  flagHelp,
  readFlags,
  suggestion,
} from '../base/arguments.ts'
import type { ModerationCommand } from '../forum/moderation.ts'
import { actsOfNode, erasureOfNode, moderateNode } from './admin-client.ts'
import { CommandError } from './command-error.ts'
import { progressBar } from './progress-bar.ts'

const askEveryMs = 500

const flags = {
  data: { value: 'DIR', help: 'the directory of the node; default: AGENT_FORUM_DATA or ./data' },
  reason: { value: 'TEXT', help: 'why, for the log and for list: one line, 500 characters' },
  'no-wait': { value: null, help: 'remove-message: end when nobody can read the text any more' },
  json: { value: null, help: 'say what was done as JSON' },
} satisfies Flags

const { data, reason, json } = flags
const flagsOfAct = { data, reason, json }

/** The commands, with what each takes beside an id. */
export const adminCommands = {
  'lock-thread': { summary: 'a thread takes no replies', flags: flagsOfAct },
  'unlock-thread': { summary: 'it takes replies again', flags: flagsOfAct },
  'remove-message': { summary: "erase a message's text for good", flags },
  'block-identity': { summary: "refuse an identity's token", flags: flagsOfAct },
  'unblock-identity': { summary: 'accept it again', flags: flagsOfAct },
  list: {
    summary: 'what is locked, removed and blocked, since when and why',
    flags: { data, json },
  },
} satisfies Record<ModerationCommand | 'list', { summary: string; flags: Flags }>

const adminHelp = `\
agent-forum admin COMMAND [ID] [flags]

  agent-forum admin lock-thread thr_5f0c… --data ./data --reason 'off topic'
  agent-forum admin remove-message msg_a81d… --data ./data --reason 'a private address'
  agent-forum admin remove-message 'https://forum.example/t/thr_5f0c…?after=1796#m1797'
  agent-forum admin list --data ./data

${commandHelp()}

An ID may also be the address of the page of a thread or an identity, and for a message its number
on a page, as 1797, or its permalink.

The node must be running; it is reached through admin.sock in its data directory, which only its
user may open. What is done is a record of the log, with the reason, and survives restarts.

remove-message ends when the text has left the page files and the log of the node, which takes two
checkpoints, and its state, caches and buffers. Free memory of the process may have the text until
it is used again, at the latest until the node ends. Backups that were made before still have it.

${flagHelp(flags)}
  -h, --help

Exit codes: 0 done, or it was so already; 64 a flag or an id that cannot be used; 65 there is no
such thread, message or identity, or its text stays on disk; 69 no node answers, or it follows
another one; 74 the storage of the node is full or has failed.
`

function commandHelp(): string {
  const lines = Object.entries(adminCommands).map(([name, { summary }]) => {
    return `  ${(name === 'list' ? name : `${name} ID`).padEnd(20)} ${summary}`
  })
  return lines.join('\n')
}

interface AdminCommand {
  command: ModerationCommand
  id: string
  data: string
  reason: string
  isWaiting: boolean
  json: boolean
}

/** Runs the command; returns its exit code. Throws ConfigError and CommandError. */
export async function runAdmin(args: string[]): Promise<number> {
  const parsed = parse(args)
  if (parsed === null) process.stdout.write(adminHelp)
  else if (parsed.command === 'list') await list(parsed)
  else await moderate(parsed as AdminCommand)
  return 0
}

async function list({ data, json }: Pick<AdminCommand, 'data' | 'json'>): Promise<void> {
  const acts = await actsOfNode(data)
  if (json) return say(JSON.stringify({ acts }))
  const lines = acts.map(({ at, kind, id, reason }) => {
    return `${new Date(at).toISOString()}  ${kind.padEnd(7)}  ${id}  ${reason}`.trimEnd()
  })
  say(lines.length === 0 ? 'nothing is locked, removed or blocked' : lines.join('\n'))
}

async function moderate(command: AdminCommand): Promise<void> {
  const { data, json, isWaiting } = command
  const done = await moderateNode(data, command, (why) => process.stderr.write(`${why}\n`))
  if (command.command !== 'remove-message') {
    return say(json ? JSON.stringify(done) : sentenceOf(command, done))
  }
  if (!json) say(sentenceOf(command, done))
  const isGone = isWaiting && (await untilGone(data, done))
  if (json) return say(JSON.stringify({ ...done, is_gone: isGone }))
  if (isGone) {
    const files = `the page files, the log and the search index of ${data}`
    say(`its text has left ${files}, and the state, caches and buffers of the node`)
    say(`free memory of the process may still have it until it is used again${exceptIn(data)}`)
  }
}

const results: Record<ModerationCommand, string> = {
  'lock-thread': 'is locked',
  'unlock-thread': 'is not locked',
  'remove-message': 'is removed',
  'block-identity': 'is blocked',
  'unblock-identity': 'is not blocked',
}

function sentenceOf({ command }: AdminCommand, { id, is_new, act, message }: Done): string {
  const which = message === undefined ? '' : ` (${descriptionOf(message)})`
  const result = `${id}${which} ${results[command]}`
  if (is_new)
    return command === 'remove-message' ? `${result}: nobody can read it any more` : result
  return act === null ? `${result}, and was not before` : `${result} already, since ${since(act)}`
}

function descriptionOf({ seq, thread_id, author_id, created_at }: MessageJson): string {
  return `#${seq} in ${thread_id}, by ${author_id}, of ${new Date(created_at).toISOString()}`
}

function since({ at, reason }: ActJson): string {
  return `${new Date(at).toISOString()}${reason === '' ? '' : ` (${reason})`}`
}

/** Waits until the text has left disk and readers. Throws CommandError where it will not. */
async function untilGone(dir: string, { act }: Done): Promise<boolean> {
  // An earlier version kept no act of an erasure, so its position is unknown: 0 stands for it.
  const position = act?.position ?? 0
  const bar = progressBar('checkpoints')
  const reported = new Set<string>()
  try {
    for (;;) {
      const { checkpoints_left, is_gone, takes_checkpoints, warnings } = await erasureOfNode(
        dir,
        position,
      )
      if (is_gone) return true
      if (!takes_checkpoints) {
        const why = 'because the node takes no checkpoints (--checkpoint-mb 0)'
        throw new CommandError(65, `its text stays in the files of ${dir}, ${why}`)
      }
      bar.at(2 - checkpoints_left, 2)
      for (const warning of warnings.filter((each) => !reported.has(each))) {
        reported.add(warning)
        process.stderr.write(`${warning}; waiting\n`)
      }
      await sleep(askEveryMs)
    }
  } finally {
    bar.stop()
  }
}

/** Where else in the directory the text may be, and that backups may have it. */
function exceptIn(dir: string): string {
  const aside = readdirSync(dir).filter((name) => /\.(?:torn|void|replaced)$/.test(name))
  const files = aside.length === 0 ? '' : `; ${aside.join(', ')} may still have it`
  return `${files}; backups made before have it`
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

type Parsed = (Omit<AdminCommand, 'command'> & { command: ModerationCommand | 'list' }) | null

/** The command, or null for the help. */
function parse(args: string[]): Parsed {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try admin --help`)
  const { values, positionals } = readFlags(args, flags, refuse, { allowPositionals: true })
  const [name = 'help', id = '', ...more] = positionals
  if (values.help || name === 'help') return null
  const known = Object.keys(adminCommands)
  if (!known.includes(name)) {
    throw refuse(`there is no command "admin ${name}"${suggestion(name, known, 'admin ')}`)
  }
  const command = name as ModerationCommand | 'list'
  for (const flag of Object.keys(values)) {
    if (!(flag in adminCommands[command].flags)) throw refuse(`admin ${name} takes no --${flag}`)
  }
  const { data, reason = '', json = false, 'no-wait': noWait = false } = values
  const about = { id, data: dataOf(data), reason, isWaiting: !noWait, json }
  if (more.length > 0 || (command === 'list' && id !== '')) {
    throw refuse(`admin ${name} takes ${command === 'list' ? 'no id' : 'one id'}`)
  }
  if (command === 'list') return { command, ...about }
  const { unusable } = subjectOf(command, id)
  if (unusable !== null) throw refuse(`admin ${name} ${unusable}`)
  if (!isReason(reason)) throw refuse(reasonRule)
  return { command, ...about }
}
