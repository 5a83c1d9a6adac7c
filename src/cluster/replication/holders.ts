// The nodes that hold a log which may be published. While a stream has no message, nodes describe
// their logs in notes beside it, so that none begins the stream without the records of another.
//
//   note `holder.<node>` = { version, store, position, term }
//
// H1. A node writes its note before it reads its log, again after it has read it, and before it
//     begins a term (lead.ts, L4). So each term that is in any log is in a note, as long as the
//     notes are kept; a leader rewrites the note `history` only after its own (notes.ts, H1).
// H2. A stream without messages is begun at once by a log that was never in a stream, or not since
//     it was restored from a backup, which began an epoch of its own; or by a log whose last term
//     this node led, if the note `history` exists and no note names a later term, because then
//     nobody else has anything that was acknowledged. An empty log begins it after a while in which
//     no node announces itself.
//     A follower may have shown records that the leader lost in a power failure, before it had
//     synced them. The follower's notes, written every few seconds, reveal that (notes.ts).
// H3. Any other case needs an operator's decision: `--begin-stream POSITION`, with the position at
//     which the node's log ends. Left in the settings, the flag does not apply to another log.
// H4. A leader removes the note of a node that has been silent for an hour, unless the note names
//     the leader's term or a later one, or another store: the leader's own note then stands for all
//     that H2 asks for. Otherwise notes of replaced nodes would remain for ever. A node that comes
//     back writes its note again (H1).

import type { LogEnd } from './compare.ts'
import type { LogStream, Note } from './log-stream.ts'
import { type FollowerNote, followerKey, followerKeys } from './notes.ts'

export interface Holder {
  version: 1
  /** The id of the store that its log belongs to. */
  store: string
  /** The end of its log when the note was written; null: the log was still being read. */
  position: number | null
  /** The term of that end, or the term that the node was about to begin. */
  term: number
  /** Its position as a follower, from its note `follower.<node>`. */
  followed?: number
}

const keys = 'holder.'

/**
 * Writes the note about this node's log, or removes it if the log is empty. Rejects with
 * `StreamUnavailable`.
 */
export async function announce(
  { notes }: LogStream,
  node: string,
  { store, position, term }: Pick<Holder, 'store' | 'position' | 'term'>,
): Promise<void> {
  const key = keys + node
  if (position === 0 && term === 0) return notes.remove(key)
  const holder: Holder = { version: 1, store, position, term }
  await notes.write(key, holder)
}

/** Announces that this node has a log, unless its note already describes a log of this store. */
export async function announceUnread(
  stream: LogStream,
  node: string,
  store: string,
): Promise<void> {
  const note = await stream.notes.read(keys + node)
  if ((note?.value as Holder | undefined)?.store === store) return
  await announce(stream, node, { store, position: null, term: 0 })
}

/** Returns the logs of the other nodes by node id; `store` is that of this node. */
export async function otherHolders(
  { notes }: LogStream,
  node: string,
  store: string | null,
): Promise<Map<string, Holder>> {
  const holders = new Map<string, Holder>()
  for (const key of await notes.keys(keys)) {
    const id = key.slice(keys.length)
    const note = id === node ? null : await notes.read(key)
    if (note !== null) holders.set(id, note.value as Holder)
  }
  for (const key of await notes.keys(followerKeys)) {
    const id = key.slice(followerKeys.length)
    const note = id === node ? null : await notes.read(key)
    const followed = (note?.value as FollowerNote | undefined)?.position ?? 0
    if (followed === 0) continue
    const follower = {
      version: 1,
      store: store ?? 'of the stream',
      position: followed,
      term: 0,
    } as const
    holders.set(id, { ...(holders.get(id) ?? follower), followed })
  }
  return holders
}

/**
 * Removes the notes of nodes that have no note as a follower and are silent, according to
 * `isSilent`, as far as the note of this leader stands for them (H4).
 */
export async function forgetHolders(
  { notes }: LogStream,
  node: string,
  isSilent: (key: string, note: Note) => boolean,
): Promise<void> {
  const own = (await notes.read(keys + node))?.value as Holder | undefined
  if (own === undefined) return // it was lost, and will be written again
  for (const key of await notes.keys(keys)) {
    const note = key === keys + node ? null : await notes.read(key)
    if (note === null || !isSilent(key, note)) continue
    const { store, term } = note.value as Holder
    if (store !== own.store || term >= own.term) continue
    if ((await notes.read(followerKey(key.slice(keys.length)))) !== null) continue
    await notes.remove(key, note.revision)
  }
}

/** A node that could begin a stream which has no message. */
interface Beginner {
  /** The end of its log; `store` null: it has no log. */
  end: Omit<LogEnd, 'nonce' | 'store'> & { store: string | null }
  /** Whether it led the last term of its log. */
  hasLed: boolean
  /** Whether its settings allow it to begin with this log. */
  mayBegin: boolean
  /** Whether the note `history` exists, which means that no note has been lost (H1). */
  hasHistory: boolean
  /** The time for which it has looked for other nodes, and for which it must look. */
  waitedMs: number
  patienceMs: number
  /** The position given with `--begin-stream`; null: none was given. */
  beginAt: number | null
}

/** Returns null if the node begins the stream, or else the reason to wait, a sentence. */
export function whyNotBegin(own: Beginner, others: ReadonlyMap<string, Holder>): string | null {
  const { end, beginAt } = own
  const { position } = end
  if (!own.mayBegin) return 'the stream has no message, and this node may not begin it'
  if (beginAt === position) return null
  const mistake = beginAt === null ? '' : `, not ${beginAt}`
  const flag = `--begin-stream ${position}${mistake}`
  const about = describe(own, others)
  if (about === null) return null
  return position === 0
    ? `${about}, or begin without it by ${flag}`
    : `${about}, or publish the log of this node by ${flag}`
}

/** Says which node may have records that this one lacks, and the remedy; null: none has. */
function describe(own: Beginner, others: ReadonlyMap<string, Holder>): string | null {
  const { store, position, term } = own.end
  for (const [node, holder] of others) {
    const { followed = 0 } = holder
    const reached = Math.max(holder.position ?? 0, followed)
    const end = reached === 0 ? '' : ` up to position ${reached}`
    const has = `node ${node} holds the log of store ${holder.store}${end}`
    if (position === 0) return `${has}: start it, so that it publishes its log`
    if (holder.store !== store) {
      if (holder.position === null) continue // perhaps empty; if not, one of the two is refused
      return `${has}, and this node that of store ${store}: start the nodes of one store only`
    }
    const isNewer =
      holder.term > term || (holder.term === term && reached > position) || followed > position
    if (isNewer) return `${has}, in term ${holder.term}, and this node has less: start that node`
  }
  if (position === 0) {
    if (own.waitedMs >= own.patienceMs) return null
    const seconds = Math.ceil(own.patienceMs / 1000)
    return `the stream has no message: wait ${seconds} s for nodes that hold a log`
  }
  if (term === 0 || (own.hasLed && own.hasHistory)) return null
  return (
    `the stream has no message any more, and others may hold more than this node, which ends at ` +
    `position ${position} in term ${term}: start the node that led last`
  )
}
