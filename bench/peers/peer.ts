// What stands beside the forum in a comparison: started for a run, skipped where it is missing.

import type { Side } from '../compare.ts'
import type { Population } from '../population.ts'
import type { Scene } from '../sides.ts'

export interface Peer {
  /** Where it answers, if it speaks HTTP. */
  url?: string
  /** Its side in a scenario; `sendHttp` makes one of a server that is sent the scenario's ring. */
  side(scenario: string, sendHttp: Scene['other']): Side
  stop(): Promise<void>
}

export interface PeerKind {
  name: string
  /** What has to be installed, or null when everything is there. */
  missing(): string | null
  /** Starts it in an empty directory of its own, below `parent`. */
  start(parent: string, population: Population, durability: string): Promise<Peer>
}
