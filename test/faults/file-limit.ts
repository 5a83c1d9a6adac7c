// The number of files that a running process may have open.

import { execFileSync } from 'node:child_process'

/** Below the number that it has open, it can open no more: EMFILE. */
export function limitFiles(pid: number, files: number): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}:`])
}
