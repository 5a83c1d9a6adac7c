// A peer with which the forum is compared. It is started for a run, or skipped if not installed.

import { join } from 'node:path'
import type { Side } from '../compare.ts'
import type { Population } from '../population.ts'
import type { Scene } from '../sides.ts'

/** Where the peers from npm are installed, which nothing else needs. */
export const peersFolder = join(import.meta.dirname, '../../../.ci/peers')

export interface Peer {
  /** Its URL, if it speaks HTTP. */
  url?: string
  /** Its side in a scenario; `sendHttp` makes a side of a server that gets the scenario's ring. */
  side(scenario: string, sendHttp: Scene['other']): Side
  /** Its port and the commands of a reply, if it speaks RESP. */
  raw?: { pid: number; port: number; commands: readonly (readonly string[])[] }
  stop(): Promise<void>
}

export interface PeerKind {
  name: string
  /** Returns what has to be installed, or null if nothing is missing. */
  missing(): string | null
  /** Starts the peer in a new, empty directory below `parent`. */
  start(parent: string, population: Population, durability: string): Promise<Peer>
}
