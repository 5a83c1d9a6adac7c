// The commit that the program was built from.

import { textOf } from '../../base/program-files.ts'

/** The commit, if the build ran in a clone; null if it ran elsewhere, for example in a package. */
export const commit = textOf('commit')?.trim() ?? null

/** Returns the version with the commit, if it is known, as Semantic Versioning writes it. */
export function withCommit(version: string): string {
  return commit === null ? version : `${version}+${commit}`
}
