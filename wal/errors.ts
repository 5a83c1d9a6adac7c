// Why a journal cannot be opened, read or written. The exit code is the process's: 74 the storage
// failed, 75 another process has the directory, 76 a newer version wrote it, 77 damage.

export type JournalExitCode = 74 | 75 | 76 | 77

/** One sentence that names the file, what is wrong with it, and what to do. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly exitCode: JournalExitCode

  constructor(exitCode: JournalExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The system's code of an error (`ENOSPC`), or an empty string. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** Whether the system said so, and not our own code. */
export function isOfSystem(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(codeOf(error))
}

// What goes away by itself or by an operator's hand, with nothing lost: retried, never final.
const spaceCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM'])

export function isLackOfSpace(error: unknown): boolean {
  return spaceCodes.has(codeOf(error))
}

/** Turns a failure of the file system into a JournalError 74 that says what was being done. */
export function storageError(doing: string, error: unknown): JournalError {
  if (error instanceof JournalError) return error
  const why = error instanceof Error ? error.message : String(error)
  return new JournalError(74, `cannot ${doing}: ${why}`, { cause: error })
}

/** JournalError 76: `file` has a version of its format that is not known yet. */
export function newerError(file: string, version: number, known: number): JournalError {
  return new JournalError(
    76,
    `${file} has format version ${version} and this program knows ${known}; ` +
      'nothing was changed, start the newer program',
  )
}

/** JournalError 77: the bytes at `at` of `file`, where `position` should be, are not as written. */
export function damageError(
  dir: string,
  file: string,
  at: number,
  position: number,
  what: string,
): JournalError {
  return new JournalError(
    77,
    `${file} is damaged at offset ${at}, position ${position}: ${what}; nothing was changed, ` +
      `run \`agent-forum wal verify --data ${dir}\``,
  )
}
