// Why a journal cannot be opened, read or written. The exit code is that of the process: 74 the
// storage failed, 75 another process uses the directory, 76 another version wrote it, 77 damage,
// 78 another node continues the log, or may.

import os from 'node:os'

export type JournalExitCode = 74 | 75 | 76 | 77 | 78

/** One sentence that names the file, its fault, and the remedy. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly exitCode: JournalExitCode
  /** The message without the advice at its end. */
  readonly finding: string

  constructor(exitCode: JournalExitCode, finding: string, options: ErrorOptions & Advice = {}) {
    super(options.advice === undefined ? finding : `${finding}; ${options.advice}`, options)
    this.exitCode = exitCode
    this.finding = finding
  }
}

interface Advice {
  advice?: string
}

// libuv has no name for some errors: their code is `UNKNOWN`, or `Unknown system error -122` from a
// call in the background. Only `errno` distinguishes them.
const unnamed = new Map([
  [os.constants.errno.EDQUOT, { code: 'EDQUOT', meaning: 'disk quota exceeded' }],
  [os.constants.errno.EBADMSG, { code: 'EBADMSG', meaning: 'bad message, a checksum is wrong' }],
  [117, { code: 'EUCLEAN', meaning: 'structure needs cleaning, run fsck' }],
])
const systemCode = /^E[A-Z0-9]+$/

/** The system's code of an error (`ENOSPC`; `E` and the number if it has no name), or `''`. */
export function codeOf(error: unknown): string {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  const text = typeof code === 'string' ? code : ''
  if (typeof errno !== 'number' || systemCode.test(text)) return text
  return unnamed.get(-errno)?.code ?? `E${-errno}`
}

/** The message of an error, with the system's name for it where Node has none. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, errno, syscall } = error as NodeJS.ErrnoException
  if (errno === undefined || code === codeOf(error)) return error.message
  const meaning = unnamed.get(-errno)?.meaning ?? 'unknown error'
  return `${codeOf(error)}: ${meaning}, ${syscall}`
}

/** Whether the error comes from the operating system, not from our own code. */
export function isOfSystem(error: unknown): boolean {
  return systemCode.test(codeOf(error))
}

// Conditions that end by themselves or with an operator's help, without any loss; retried.
const spaceCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM'])

export function isLackOfSpace(error: unknown): boolean {
  return spaceCodes.has(codeOf(error))
}

const damageCodes = new Set(['EIO', 'EUCLEAN', 'EBADMSG'])

/** Whether the device or the file system cannot read data that was written. */
export function isUnreadable(error: unknown): boolean {
  return damageCodes.has(codeOf(error))
}

/** Whether the process or the system has reached its limit of open files. */
export function isLackOfFiles(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(codeOf(error))
}

const permissions = 'run this as the user that owns it, or give it to this user'
const openFiles = 'raise `ulimit -n`'
const adviceOn = new Map([
  ['EACCES', permissions],
  ['EPERM', permissions],
  ['EMFILE', openFiles],
  ['ENFILE', openFiles],
  ['ENOTDIR', 'name a directory'],
])

/** Turns a file-system error into a JournalError 74 that names the operation, as in `read FILE`. */
export function storageError(doing: string, error: unknown): JournalError {
  if (error instanceof JournalError) return error
  const advice = adviceOn.get(codeOf(error))
  const options = advice === undefined ? { cause: error } : { cause: error, advice }
  return new JournalError(74, `cannot ${doing}: ${messageOf(error)}`, options)
}

/** The last commits that read what builds before release 1.0 wrote, by version from 1 on. */
const lastReaders = {
  format: ['8bceb596', 'd83a88e8'],
  state: ['0a1fa4a2', '5294896c', '6bd589d5'],
}

/**
 * JournalError 76: `file`, or the state that is saved in it, has another format version than the
 * one that this program knows. If it is older, names the last commit of agent-forum that reads it.
 */
export function versionError(
  file: string,
  version: number,
  known: number,
  of: 'format' | 'state' = 'format',
): JournalError {
  const older = 'a build before release 1.0 wrote it'
  const lastReader = lastReaders[of][version - 1] ?? lastReaders[of].at(-1)
  const remedy =
    version > known
      ? 'start the newer program'
      : `${older}, and commit ${lastReader} is the last that reads it`
  return new JournalError(
    76,
    `${file} has format version ${version} and this program knows ${known}; ` +
      `nothing was changed, ${remedy}`,
  )
}

/**
 * JournalError 77: the bytes at offset `at` of `file`, which should hold `position`, have changed.
 */
export function damageError(
  dir: string,
  file: string,
  at: number,
  position: number,
  what: string,
): JournalError {
  const repair = `\`agent-forum wal repair --data ${dir} --copy-to DIR2\``
  return new JournalError(77, `${file} is damaged at offset ${at}, position ${position}: ${what}`, {
    advice: `nothing was changed; restore a backup, or save what can be saved with ${repair}`,
  })
}
