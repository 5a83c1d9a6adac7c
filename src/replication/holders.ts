// The holders of a log that may be published: before a stream has a message, nodes describe their
// logs by notes beside it, so that none begins a stream without the records of another.
//
//   note `holder.<node>` = { version, store, position, term }
//
// H1. A node writes its note before it reads its log, again when it has, and before it begins a
//     term (lead.ts, L5). So no term is in any log that is not in a note, as long as the notes
//     are kept; a leader writes the note `history` again only after its own (notes.ts, H1).
// H2. A stream without messages is begun at once by a log that was never in a stream; by a log
//     whose last term this node led, if no note names a later one: nobody else has anything that
//     was acknowledged; and by an empty log after a while in which no node announces itself.
//     A follower may have shown what a leader without power has not synced: its notes, which it
//     writes every few seconds, say so (notes.ts).
// H3. Anything else needs the word of an operator, `--begin-stream POSITION` with the position at
//     which the node's log ends: it does not hold for another log, if it is left in the settings.

import type { LogEnd } from './compare.ts'
import type { LogStream } from './log-stream.ts'
import { type FollowerNote, followerKeys } from './notes.ts'

export interface Holder {
  version: 1
  /** The id of the store that its log has. */
  store: string
  /** The end of its log when it was written; null: it is being read. */
  position: number | null
  /** The term of that end, or the one that it was about to begin. */
  term: number
  /** Its progress as a follower, by its other note. */
  followed?: number
}

const keys = 'holder.'

/** Describes the log of this node, unless it is empty. Rejects with `StreamUnavailable`. */
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

/** Announces that this node has a log, unless its note describes that already. */
export async function announceUnread(
  stream: LogStream,
  node: string,
  store: string,
): Promise<void> {
  const note = await stream.notes.read(keys + node)
  if ((note?.value as Holder | undefined)?.store === store) return
  await announce(stream, node, { store, position: null, term: 0 })
}

/** The logs of the other nodes, by their ids; `store` is that of this node. */
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

/** A node that could begin a stream which has no message. */
interface Beginner {
  /** Its log; `store` null: it has none. */
  end: Omit<LogEnd, 'nonce' | 'store'> & { store: string | null }
  /** Whether it led in the last term of its log. */
  hasLed: boolean
  /** Whether its settings let it begin with this log. */
  mayBegin: boolean
  /** Whether the note `history` is there: then no note has been lost (H1). */
  hasHistory: boolean
  /** The time that it has looked for others, and has to; in milliseconds. */
  waitedMs: number
  patienceMs: number
  /** The word of the operator; null: none. */
  word: number | null
}

/** Null: it begins the stream; otherwise the reason of its waiting, a sentence. */
export function whyNotBegin(own: Beginner, others: ReadonlyMap<string, Holder>): string | null {
  const { end, word } = own
  const { position } = end
  if (!own.mayBegin) return 'the stream has no message, and this node may not begin it'
  if (word === position) return null
  const mistake = word === null ? '' : `, not ${word}`
  const flag = `--begin-stream ${position}${mistake}`
  const about = describe(own, others)
  if (about === null) return null
  return position === 0
    ? `${about}, or begin without it by ${flag}`
    : `${about}, or publish the log of this node by ${flag}`
}

/** Why another node may have records that this one lacks, and the remedy; null: none has. */
function describe(own: Beginner, others: ReadonlyMap<string, Holder>): string | null {
  const { store, position, term } = own.end
  for (const [node, holder] of others) {
    const { followed = 0 } = holder
    const reached = Math.max(holder.position ?? 0, followed)
    const end = reached === 0 ? '' : ` up to position ${reached}`
    const has = `node ${node} holds the log of store ${holder.store}${end}`
    if (position === 0) return `${has}: start it, so that it publishes that`
    if (holder.store !== store) {
      if (holder.position === null) continue // perhaps empty; if not, one of the two is refused
      return `${has}, and this node that of store ${store}: start the nodes of one store only`
    }
    const isNewer =
      holder.term > term || (holder.term === term && reached > position) || followed > position
    if (isNewer) return `${has}, in term ${holder.term}, and this one has less: start that one`
  }
  if (position === 0) {
    if (own.waitedMs >= own.patienceMs) return null
    const seconds = Math.ceil(own.patienceMs / 1000)
    return `the stream has no message: wait ${seconds} s for nodes that hold a log`
  }
  if (term === 0 || (own.hasLed && own.hasHistory)) return null
  return (
    `the stream has no message any more, and others may hold more than this node, up to position ` +
    `${position} in term ${term}: start the node that led last`
  )
}
