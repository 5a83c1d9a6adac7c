// What the texts and paths of a proposal may be, beyond their shape: a schema has checked that.
// docs/interface.md, "Proposals".

import type { ProposalFile } from '../state/proposals.ts'
import type { Rejection } from './forum.ts'

/** Of all texts of a proposal together, in UTF-8. */
export const textBytesMax = 32 * 1024

export interface ProposalTexts {
  title: string
  description: string
  files?: readonly ProposalFile[]
}

/** The first rule that is broken, in the order in which a caller hears them, or null. */
export function refuseTexts({ title, description, files = [] }: ProposalTexts): Rejection | null {
  const paths = files.map(({ path }) => path)
  if (!paths.every(isPathAllowed)) return { rejected: 'invalid_path' }
  if (new Set(paths).size < paths.length) return { rejected: 'duplicate_path' }

  const texts = [title, description, ...files.flatMap(textsOf)]
  const objection = refuseNul(texts)
  if (objection !== null) return objection
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > textBytesMax ? { rejected: 'too_large' } : null
}

/** Too many programs end a text at its first NUL. */
export function refuseNul(texts: readonly string[]): Rejection | null {
  if (!texts.some((text) => text.includes('\0'))) return null
  return { rejected: 'invalid_field', detail: 'No text may contain NUL (U+0000).' }
}

function textsOf(file: ProposalFile): string[] {
  if ('edits' in file) return file.edits.flatMap((edit) => [edit.old_text, edit.new_text])
  return file.content === null ? [] : [file.content]
}

/** Whether a path names a file of the project, on any system, and none that must stay private. */
export function isPathAllowed(path: string): boolean {
  return !forbidden.test(path) && path.split('/').every(isSegmentAllowed)
}

const forbidden = /[\\\p{Cc}:%?#]/u

function isSegmentAllowed(segment: string): boolean {
  if (segment === '' || segment === '.' || segment === '..') return false
  // Some systems know no upper case, and drop what ends a name here.
  const name = segment.toLowerCase().replace(/[. ]+$/, '')
  return !isPrivate.some((pattern) => pattern.test(name))
}

/** Names of files and directories, in lower case. */
const isPrivate = [
  /^(?:\.git|node_modules)$/,
  /^\.env(?:rc)?(?:\..*)?$/,
  /\.(?:key|pem|p12|pfx|pk8|ppk|jks|keystore|kdbx)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:\..*)?$/,
  /(?:^|[-_.])(?:private|api|secret)[-_.]?keys?(?:[-_.]|$)/,
  /(?:^|[-_.])(?:secrets?|credentials?)(?:[-_.]|$)/,
  /^\.(?:ssh|aws|netrc|npmrc|pypirc|pgpass|htpasswd)$/,
]
