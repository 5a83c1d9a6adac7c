// The error of a command that was not carried out.

/** The message is one sentence. The exit codes are those of sysexits.h. */
export class CommandError extends Error {
  /** 65: no such thing, bad input, or not done entirely. 69: no node answers. 74: storage. */
  readonly exitCode: 65 | 69 | 74

  constructor(exitCode: 65 | 69 | 74, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
