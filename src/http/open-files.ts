// How many files and connections this process has open, how many it may have, and how much memory
// it holds. Where the system does not show them: NaN. It shows them as files, so it cannot when no
// descriptor is left.

import { readdirSync, readFileSync, statSync } from 'node:fs'

export function openFiles(): number {
  try {
    // Linux 6.2 and later count them; listing them takes milliseconds when there are thousands.
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
