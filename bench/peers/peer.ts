// A peer that the forum is compared with: started for a run, skipped where it is not installed.

import type { Side } from '../compare.ts'
import type { Population } from '../population.ts'
import type { Scene } from '../sides.ts'

export interface Peer {
  /** Its URL, if it speaks HTTP. */
  url?: string
  /** Its side in a scenario; `sendHttp` makes one of a server that is sent the scenario's ring. */
  side(scenario: string, sendHttp: Scene['other']): Side
  /** Its port and the commands of a reply, if it speaks RESP. */
  raw?: { port: number; commands: readonly (readonly string[])[] }
  stop(): Promise<void>
}

export interface PeerKind {
  name: string
  /** What has to be installed, or null when nothing is missing. */
  missing(): string | null
  /** Starts it in a new, empty directory below `parent`. */
  start(parent: string, population: Population, durability: string): Promise<Peer>
}
