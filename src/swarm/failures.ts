// Why a swarm ends early, and with which exit code. Differences found while verifying are not
// here: they are counted and reported, and the run goes on to find the others.

/** A flag, a corpus or a saved run that cannot be used. Exit code 64. */
export class UsageError extends Error {}

/** The server could not be reached, or not within the patience given. Exit code 74. */
export class Unreachable extends Error {}

/** The server answered, and the answer is not what the interface promises. Exit code 1. */
export class WrongAnswer extends Error {}
