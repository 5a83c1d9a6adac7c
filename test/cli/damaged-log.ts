// A damaged log, for the tests of the tools that report damage.

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns a copy of the data directory in which the record with the text `reply 2` is damaged. */
export function damagedCopy(data: string): string {
  const damaged = `${data}-damaged`
  cpSync(data, damaged, { recursive: true })
  const log = join(damaged, '0000000001.wal')
  const bytes = readFileSync(log)
  bytes[bytes.indexOf('reply 2')]! ^= 1
  writeFileSync(log, bytes)
  return damaged
}
