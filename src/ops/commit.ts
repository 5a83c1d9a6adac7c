// The commit that the program was built from.

import { textOf } from '../base/program-files.ts'

/** As `npm run build` has found it in a clone; null: it was built elsewhere, as from a package. */
export const commit = textOf('commit')?.trim() ?? null

/** The version with the commit, where it is known, as Semantic Versioning writes it. */
export function withCommit(version: string): string {
  return commit === null ? version : `${version}+${commit}`
}
