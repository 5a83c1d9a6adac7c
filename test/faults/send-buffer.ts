// The send buffers of a running process: how much the system holds for the other ends of its
// sockets that these have not read.

import { spawnSync } from 'node:child_process'

const widen = `
import ctypes, os, socket, sys
pid = int(sys.argv[1])
process = os.pidfd_open(pid)
for name in os.listdir(f'/proc/{pid}/fd'):
    try:
        if not os.readlink(f'/proc/{pid}/fd/{name}').startswith('socket:'): continue
    except FileNotFoundError: continue
    copy = ctypes.CDLL(None, use_errno=True).syscall(438, process, int(name), 0)  # pidfd_getfd
    if copy < 0: raise OSError(ctypes.get_errno(), 'pidfd_getfd')
    with socket.socket(fileno=copy) as each:
        if each.family == socket.AF_UNIX:
            each.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)  # SO_SNDBUFFORCE
`

/**
 * Has the system hold 16 MiB for each local socket of the process, as net.core.wmem_default can.
 * Returns false if that is impossible.
 */
export function widenSendBuffers(pid: number): boolean {
  return spawnSync('python3', ['-c', widen, `${pid}`]).status === 0
}

export const notWidened = 'skipped: python3 is missing, or needs root to widen send buffers'
