// The error of a command that was not carried out.

type ExitCode = 65 | 69 | 74 | 75

/** The message is one sentence. The exit codes are those of sysexits.h. */
export class CommandError extends Error {
  /**
   * 65: no such thing, bad input, or not done entirely. 69: no node answers. 74: storage.
   * 75: nobody has answered yet.
   */
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
