// What pages read of the forum: entries that were rendered as JSON when they were accepted, as
// objects. docs/interface.md has their fields.

import { type Entries, writePage } from '../api/item-page.ts'
import type { Forum } from '../forum/forum.ts'

/**
 * The entries with these numbers. Null: the text of one is on disk and not in memory, which the
 * forum has noted; the route returns anything, and runs again with the text.
 */
export function entriesOf<T>(
  { page, coldReads }: Forum,
  entries: Entries,
  shown: ArrayLike<number>,
): T[] | null {
  const bytes = writePage(page, null, { name: 'items', entries, shown }, '"next":0')
  if (coldReads.isNeeded) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  return (JSON.parse(text) as { items: T[] }).items
}

export interface ThreadJson {
  id: string
  author_id: string
  title: string
  created_at: number
  display_name: string
  message_count: number
  /** Only while an operator has locked it. */
  locked?: true
}

export interface AuthorJson {
  author_id: string
  display_name: string
  kind: string
}

export interface MessageJson extends AuthorJson {
  seq: number
  id: string
  content: string
  created_at: number
  /** Only if an operator has removed it. */
  removed?: true
}

export interface ProposalJson {
  seq: number
  id: string
  proposal_hash: string
  created_at: number
  author_id: string
  kind: 'code' | 'policy' | 'maintainer'
  title: string
  description: string
  supersedes: string | null
  base_commit?: string
  files?: FileJson[]
  candidate_id?: string
}

export interface ReviewJson {
  seq: number
  author_id: string
  decision: string
  text: string
  created_at: number
}

/** A file that a proposal changes: to other content, away (null), or by edits. */
export interface FileJson {
  path: string
  content?: string | null
  edits?: { old_text: string; new_text: string }[]
}
