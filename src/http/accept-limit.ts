// Keeps the number of connections below its limit, for an HTTP server that can neither count nor
// refuse them: while there are too many it stops listening, and callers find the port closed.
//
// A1. It looks every `lookMs`, so the limit can be passed by what comes in between. Config keeps it
//     far enough below the limit of open files: at that one uWebSockets.js would spin.
// A2. Connections are told by open files: those that were open at the start are none.

import type { Load } from './load.ts'
import { openFiles } from './open-files.ts'

export const lookMs = 100
/** Listening begins again below this part of the limit, so that it does not flutter. */
const resumeAt = 0.95

export interface Door {
  close(): void
  /** False: the port cannot be had now. */
  open(): boolean
}

/** Watches from now on; returns a function that ends it. */
export function limitConnections(load: Load, door: Door, countFiles = openFiles): () => void {
  const before = countFiles()
  const { connectionsMax } = load.limits
  let isOpen = true
  load.connections = () => Math.max(0, countFiles() - before)
  const look = () => {
    const connections = load.connections()
    if (isOpen && connections >= connectionsMax) {
      isOpen = false
      load.refused.connections += 1
      door.close()
    } else if (!isOpen && connections < connectionsMax * resumeAt) {
      isOpen = door.open()
    }
  }
  const timer = setInterval(look, lookMs).unref()
  return () => clearInterval(timer)
}
