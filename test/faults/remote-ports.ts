// The TCP connections of a running process, as Linux lists them.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Returns the remote ports of the process's TCP connections, and 0 if it listens on a port. */
export function remotePortsOf(pid: number): Set<number> {
  const inodes = new Set<string | undefined>()
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      inodes.add(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1])
    } catch {} // it has been closed meanwhile
  }
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n')
  const own = rows.map((row) => row.trim().split(/\s+/)).filter((row) => inodes.has(row[9]))
  return new Set(own.map(([, , remote]) => Number.parseInt(remote!.split(':')[1]!, 16)))
}
