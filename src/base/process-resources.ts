// The number of files and connections that this process has open, the maximum, and its memory. They
// are NaN where the system has no /proc, and when no descriptor is left to read it.

import { readdirSync, readFileSync, statSync } from 'node:fs'

export function openFiles(): number {
  try {
    // Since Linux 6.2 the size is their number; listing thousands takes milliseconds.
    return statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length
  } catch {
    return Number.NaN
  }
}

export function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)![1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.NaN
  }
}

/** In bytes. */
export function residentMemory(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return Number.NaN
  }
}
