// Errors that end a swarm early, and their exit codes; for a flag, a corpus or a saved run that
// cannot be used it is ConfigError, with 64. Differences that a verification finds do not
// end it: they are counted and reported, and the run continues.

/** The server could not be reached within the patience. Exit code 74. */
export class Unreachable extends Error {}

/** The server's answer is not what the interface promises. Exit code 1. */
export class WrongAnswer extends Error {}
