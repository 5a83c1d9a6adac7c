// The limit of the number of files that a running process may have open.

import { execFileSync } from 'node:child_process'

/**
 * Sets the limit. Below the number of files that are open, the process can open no more: EMFILE.
 */
export function limitFiles(pid: number, files: number): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}:`])
}
