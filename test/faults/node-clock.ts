// The system clock of one process, which a test can set: Debian's libfaketime, preloaded, reads the
// offset from a file. The monotonic clock is not changed.

import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { dataDirectory } from '../api/process.ts'
import { until } from '../until.ts'

export interface NodeClock {
  /** Environment variables of the process. */
  environment: Record<string, string>
  /** Sets the clock so many seconds ahead of the machine's, or behind it if negative. */
  set(seconds: number): void
}

/** The path at which Debian installs the library, or undefined. */
function library(): string | undefined {
  return readdirSync('/usr/lib')
    .map((name) => join('/usr/lib', name, 'faketime/libfaketimeMT.so.1'))
    .find((path) => existsSync(path))
}

/** Returns a clock that shows the machine's time, or null where libfaketime is not installed. */
export function newClock(t: Test): NodeClock | null {
  const preload = library()
  if (preload === undefined) return null
  const file = `${dataDirectory(t)}-clock`
  const set = (seconds: number) => {
    writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  }
  set(0)
  const environment = {
    LD_PRELOAD: preload,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  return { environment, set }
}

const [stepSeconds, stepMs] = [5, 500]

/**
 * Sets the clocks further ahead, from `ahead` seconds on, until the condition holds. Resolves to
 * how far ahead they are. The steps are so short that a node does not take them for jumps
 * (forum/threads/expiry.ts, E4). Where a clock cannot be set, time passes by itself.
 */
export async function passTimeUntil(
  what: string,
  look: () => boolean | Promise<boolean>,
  clocks: readonly (NodeClock | null)[],
  ahead = 0,
): Promise<number> {
  if (clocks.includes(null)) await sleep(60_000)
  await until(what, async () => {
    if (await look()) return true
    ahead += stepSeconds
    for (const clock of clocks) clock?.set(ahead)
    await sleep(stepMs)
    return false
  })
  return ahead
}
