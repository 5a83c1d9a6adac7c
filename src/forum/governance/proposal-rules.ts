// Rules for the texts and paths of a proposal that a schema cannot express.
// docs/interface.md, "Proposals".

import type { Rejection } from '../../kernel/rejection.ts'
import type { ProposalFile } from './table.ts'

/** The most bytes of all texts of a proposal together, in UTF-8. */
export const textBytesMax = 32 * 1024

export interface ProposalTexts {
  title: string
  description: string
  files?: readonly ProposalFile[]
}

/**
 * Returns the rejection for the first violated rule, or null. The interface fixes the rules' order.
 */
export function rejectTexts({ title, description, files = [] }: ProposalTexts): Rejection | null {
  const paths = files.map(({ path }) => path)
  if (!paths.every(isPathAllowed)) return { rejected: 'invalid_path' }
  if (new Set(paths).size < paths.length) return { rejected: 'duplicate_path' }

  const texts = [title, description, ...files.flatMap(textsOf)]
  const rejection = rejectNul(texts)
  if (rejection !== null) return rejection
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > textBytesMax ? { rejected: 'too_large' } : null
}

/** Rejects texts with a NUL, at which many programs would truncate them; null if none has one. */
export function rejectNul(texts: readonly string[]): Rejection | null {
  if (!texts.some((text) => text.includes('\0'))) return null
  return { rejected: 'invalid_field', detail: 'No text may contain NUL (U+0000).' }
}

function textsOf(file: ProposalFile): string[] {
  if ('edits' in file) return file.edits.flatMap((edit) => [edit.old_text, edit.new_text])
  return file.content === null ? [] : [file.content]
}

/** Returns whether a path names a file inside the project, on any system, and no private file. */
export function isPathAllowed(path: string): boolean {
  return !forbidden.test(path) && path.split('/').every(isSegmentAllowed)
}

const forbidden = /[\\\p{Cc}:%?#]/u

function isSegmentAllowed(segment: string): boolean {
  if (segment === '' || segment === '.' || segment === '..') return false
  // Some file systems ignore case, and strip trailing dots and spaces from a name.
  const name = segment.toLowerCase().replace(/(?<![. ])[. ]+$/, '')
  return !isPrivate.some((pattern) => pattern.test(name))
}

/** Names of private files and directories, in lower case. */
const isPrivate = [
  /^(?:\.git|node_modules)$/,
  /^\.env(?:rc)?(?:\..*)?$/,
  /\.(?:key|pem|p12|pfx|pk8|ppk|jks|keystore|kdbx)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:\..*)?$/,
  /(?:^|[-_.])(?:private|api|secret)[-_.]?keys?(?:[-_.]|$)/,
  /(?:^|[-_.])(?:secrets?|credentials?)(?:[-_.]|$)/,
  /^\.(?:ssh|aws|netrc|npmrc|pypirc|pgpass|htpasswd)$/,
]
