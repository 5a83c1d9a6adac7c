// How many files and connections this process has open, and how many it may have. Where the system
// does not show them: NaN.

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
