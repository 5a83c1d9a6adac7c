// Reads the arguments of a command line, for the commands and the benchmarks. (The swarm, which
// knows nothing of src, reads its own.)

import { type ParseArgsConfig, parseArgs } from 'node:util'

/** What `parseArgs` reads. Throws what `refuse` makes of a sentence that says what is wrong. */
export function readArgs<T extends ParseArgsConfig>(
  config: T,
  refuse: (sentence: string) => Error,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw refuse(firstSentence((error as Error).message))
  }
}

/** Node explains at length how to pass positionals; the first sentence is what happened. */
function firstSentence(message: string): string {
  return message.split(/\.\s|\n/, 1)[0]
}
