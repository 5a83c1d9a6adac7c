// The note `follower.<node>` beside the stream: how far a follower is. It writes the note
// regularly, and the leader reads those of all followers before it trims the stream.

export interface FollowerNote {
  version: 1
  /** The last position that it has in its own log. */
  position: number
  /** When it wrote the note, in milliseconds since the epoch by its own clock; for people. */
  seen: number
}

/** What the keys of these notes begin with. */
export const followerKeys = 'follower.'

/** The key of the note of this node. */
export function followerKey(node: string): string {
  return `${followerKeys}${node}`
}
