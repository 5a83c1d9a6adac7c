// agent-forum admin: locks threads, removes messages and blocks identities of a running node, and
// decides who may come in.

import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ConfigError,
  dataOf,
  type Flags,
  flagHelp,
  readFlags,
  suggestion,
} from '../base/arguments.ts'
import type { AccessCommand } from '../forum/invitations/operators.ts'
import type { ModerationCommand } from '../forum/moderation/commands.ts'
import {
  type ActJson,
  type Done,
  isReason,
  type MessageJson,
  reasonRule,
  subjectOf,
} from '../operators/admin/protocol.ts'
import {
  type AccessArguments,
  accessFlags,
  listInvites,
  runAccess,
  say,
  timeOf,
  unusableArguments,
} from './admin-access.ts'
import { actsOfNode, erasureOfNode, moderateNode, signInAddress } from './admin-client.ts'
import { CommandError } from './command-error.ts'
import { progressBar } from './progress-bar.ts'

const askEveryMs = 500

const flags = {
  data: { value: 'DIR', help: 'data directory of the node; default: AGENT_FORUM_DATA or ./data' },
  reason: {
    value: 'TEXT',
    help: 'reason, for the log and the lists: one line, at most 500 characters',
  },
  ...accessFlags,
  'no-wait': {
    value: null,
    help: 'remove-message: return as soon as nobody can read the text any more',
  },
  yes: {
    value: null,
    help: 'remove-message, revoke-invite, rotate-token: do not ask whether to do it',
  },
  json: { value: null, help: 'report the result as JSON' },
} satisfies Flags

const { data, reason, yes, json } = flags
const flagsOfAct = { data, reason, json }
const flagsOfFinalAct = { ...flagsOfAct, yes }

interface Declared {
  /** The argument after the name. */
  usage: 'ID' | ''
  summary: string
  flags: Flags
}

/** The commands, with the arguments that each takes. */
export const adminCommands = {
  'lock-thread': { usage: 'ID', summary: 'close a thread to replies', flags: flagsOfAct },
  'unlock-thread': {
    usage: 'ID',
    summary: 'open a locked thread to replies again',
    flags: flagsOfAct,
  },
  'remove-message': {
    usage: 'ID',
    summary: "erase a message's text for good",
    flags: { ...flagsOfFinalAct, 'no-wait': flags['no-wait'] },
  },
  'block-identity': { usage: 'ID', summary: "refuse an identity's token", flags: flagsOfAct },
  'unblock-identity': {
    usage: 'ID',
    summary: "accept a blocked identity's token again",
    flags: flagsOfAct,
  },
  list: {
    usage: '',
    summary: 'list what is locked, removed and blocked, with times and reasons',
    flags: { data, json },
  },
  invite: {
    usage: '',
    summary: 'issue an invitation; prints its code, once',
    flags: { ...flagsOfAct, uses: flags.uses, days: flags.days },
  },
  'revoke-invite': {
    usage: 'ID',
    summary: 'revoke an invitation, named by its id or its code',
    flags: flagsOfFinalAct,
  },
  'list-invites': {
    usage: '',
    summary: 'list the invitations, with how many identities each has created',
    flags: { data, json },
  },
  register: {
    usage: '',
    summary: 'create an identity; prints its token, once',
    flags: { data, json, name: flags.name, kind: flags.kind },
  },
  'rotate-token': {
    usage: 'ID',
    summary: "replace an identity's token; prints the new one, once",
    flags: flagsOfFinalAct,
  },
  'sign-in': {
    usage: '',
    summary: 'print an address that signs a browser in for twelve hours of moderation',
    flags: { data, json },
  },
} satisfies Record<ModerationCommand | AccessCommand | ReadCommand, Declared>

/** The commands that change nothing. */
type ReadCommand = 'list' | 'list-invites' | 'sign-in'

type CommandName = keyof typeof adminCommands

const adminHelp = `\
agent-forum admin COMMAND [ID] [flags]

  agent-forum admin lock-thread thr_5f0c… --data ./data --reason 'off topic'
  agent-forum admin remove-message msg_a81d… --data ./data --reason 'a private address'
  agent-forum admin remove-message 'https://forum.example/t/thr_5f0c…?after=1796#m1797'
  agent-forum admin list --data ./data
  agent-forum admin invite --data ./data --uses 20 --days 14 --reason 'the data team'
  agent-forum admin register --data ./data --name ana
  agent-forum admin sign-in --data ./data

${commandHelp()}

An ID may also be the address of the page of a thread or an identity, and for a message its number
on a page, as 1797, or its permalink.

The node must be running; it is reached through admin.sock in its data directory, which only its
user may open. Each action is a record of the log, with its reason, and survives restarts.

remove-message, revoke-invite and rotate-token cannot be undone. They ask first in a terminal;
elsewhere they need --yes.

remove-message returns when the text has left the page files and the log of the node (which takes
two checkpoints), the search index, and the state, caches and buffers of all processes. Their
free memory may hold the text until it is used again, at the latest until the node ends. Backups
that were made before still have it.

sign-in is for a node with --ops-port: the address that it prints is one of that port, at which
moderation continues in a browser.

invite, register and rotate-token print a code or a token alone on standard output: it is shown
once, and the node keeps only its digest.

${flagHelp(flags)}
  -h, --help

Exit codes: 0 done, now or earlier; 64 an invalid flag or id, or not confirmed; 65 there is no such
thread, message, identity or invitation, the text stays on disk, or the limit of invitations is
reached; 69 no node answers, or it is a follower; 74 the storage of the node is full or has failed.
`

function commandHelp(): string {
  const lines = Object.entries(adminCommands).map(([name, { usage, summary }]) => {
    return `  ${`${name} ${usage}`.padEnd(20)} ${summary}`
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
  else await parsed()
  return 0
}

async function list({ data, json }: Pick<AdminCommand, 'data' | 'json'>): Promise<void> {
  const acts = await actsOfNode(data)
  if (json) return say(JSON.stringify({ acts }))
  const lines = acts.map(({ at, kind, id, reason }) => {
    return `${timeOf(at)}  ${kind.padEnd(7)}  ${id}  ${reason}`.trimEnd()
  })
  say(lines.length === 0 ? 'nothing is locked, removed or blocked' : lines.join('\n'))
}

async function signIn({ data, json }: Pick<AdminCommand, 'data' | 'json'>): Promise<void> {
  const address = await signInAddress(data)
  if (json) return say(JSON.stringify(address))
  say(address.url)
  process.stderr.write('open it within ten minutes; it signs one browser in, once\n')
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
  'unlock-thread': 'is unlocked',
  'remove-message': 'is removed',
  'block-identity': 'is blocked',
  'unblock-identity': 'is unblocked',
}

function sentenceOf({ command }: AdminCommand, { id, is_new, act, message }: Done): string {
  const which = message === undefined ? '' : ` (${descriptionOf(message)})`
  const result = `${id}${which} ${results[command]}`
  if (is_new)
    return command === 'remove-message' ? `${result}: nobody can read it any more` : result
  return act === null ? `${result} already` : `${result} already, since ${since(act)}`
}

function descriptionOf({ seq, thread_id, author_id, created_at }: MessageJson): string {
  return `#${seq} in ${thread_id}, by ${author_id}, of ${timeOf(created_at)}`
}

function since({ at, reason }: ActJson): string {
  return `${timeOf(at)}${reason === '' ? '' : ` (${reason})`}`
}

/** Waits until the text has left disk and readers. Throws CommandError if it never will. */
async function untilGone(dir: string, { act }: Done): Promise<boolean> {
  const position = act?.position ?? 0
  const bar = progressBar('checkpoints')
  const reported = new Set<string>()
  try {
    for (;;) {
      const {
        checkpoints_left,
        is_gone,
        damaged = [],
        ...more
      } = await erasureOfNode(dir, position)
      const { takes_checkpoints, warnings } = more
      if (is_gone) return true
      if (checkpoints_left === 0 && damaged.length > 0) {
        const files = `${damaged.join(', ')} of ${dir}`
        const why = 'because of damage that parity cannot repair'
        const remedy = 'restore a backup, and remove the message there'
        throw new CommandError(65, `its text may still be in ${files}, ${why}; ${remedy}`)
      }
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

/** Names other files in the directory that may have the text, and says that backups have it. */
function exceptIn(dir: string): string {
  const aside = readdirSync(dir).filter((name) => /\.(?:torn|void|replaced)$/.test(name))
  const files = aside.length === 0 ? '' : `; ${aside.join(', ')} may still have it`
  return `${files}; backups made before have it`
}

/** Returns a function that runs the command, or null for the help. */
function parse(args: string[]): (() => Promise<void>) | null {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try admin --help`)
  const { values, positionals } = readFlags(args, flags, refuse, { allowPositionals: true })
  const [name = 'help', id = '', ...more] = positionals
  if (values.help || name === 'help') return null
  if (!Object.hasOwn(adminCommands, name)) {
    const meant = suggestion(name, Object.keys(adminCommands), 'admin ')
    throw refuse(`there is no command "admin ${name}"${meant}`)
  }
  const command = name as CommandName
  const { usage, flags: taken }: Declared = adminCommands[command]
  for (const flag of Object.keys(values)) {
    if (!(flag in taken)) throw refuse(`admin ${name} takes no --${flag}`)
  }
  if (more.length > 0 || (usage === '' && id !== '')) {
    throw refuse(`admin ${name} takes ${usage === '' ? 'no id' : 'one id'}`)
  }
  const { reason = '', json = false, 'no-wait': noWait = false, yes = false, ...rest } = values
  const parsed: AccessArguments = { ...rest, id, data: dataOf(values.data), reason, json }
  if (!isReason(reason)) throw refuse(reasonRule)
  if (command === 'list') return () => list(parsed)
  if (command === 'list-invites') return () => listInvites(parsed)
  if (command === 'sign-in') return () => signIn(parsed)
  const check = (unusable: string | null) => {
    if (unusable !== null) throw refuse(`admin ${unusable}`)
  }
  if (isAboutAccess(command)) {
    check(unusableArguments(command, parsed))
    return () => asking(command, id, yes).then(() => runAccess(command, parsed))
  }
  const { unusable } = subjectOf(command, id)
  check(unusable === null ? null : `${name} ${unusable}`)
  const isWaiting = !noWait
  return () => asking(command, id, yes).then(() => moderate({ ...parsed, command, isWaiting }))
}

const finalEffects: Partial<Record<CommandName, string>> = {
  'remove-message': 'erases the text of message',
  'revoke-invite': 'revokes the invitation',
  'rotate-token': 'ends the present token of',
}

/** Asks before what cannot be undone, unless the flag has answered. Throws ConfigError. */
async function asking(command: CommandName, id: string, isSure: boolean): Promise<void> {
  const effect = finalEffects[command]
  if (effect !== undefined && !isSure) await confirm(`admin ${command}`, `${effect} ${id}`)
}

function isAboutAccess(command: CommandName): command is AccessCommand {
  return ['invite', 'revoke-invite', 'register', 'rotate-token'].includes(command)
}

/**
 * Asks in the terminal whether to run the command, whose effect is given as in "erases X". Throws
 * ConfigError if the answer is not yes, or if there is no terminal.
 */
async function confirm(command: string, effect: string): Promise<void> {
  const { stdin: input } = process
  if (!input.isTTY) {
    throw new ConfigError(`${command} cannot be undone: add --yes, or run it in a terminal`)
  }
  const terminal = createInterface({ input, output: process.stderr, terminal: false })
  const closed = once(terminal, 'close').then(() => '') // the input has ended
  const question = `This ${effect}, and cannot be undone. Go on? [y/N] `
  const answer = await Promise.race([terminal.question(question), closed])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new ConfigError('nothing was done')
}
