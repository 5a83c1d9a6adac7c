// Searches the memory of a running process for a text, through /proc/PID/mem. Linux on x64 only.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

const isLinux = process.platform === 'linux' && process.arch === 'x64'
const reason = 'the memory of a process is searched on Linux, x64'
// Other systems have no file for the memory of a process, and V8 places its heap elsewhere there.
export const skipMemory = isLinux ? {} : { skip: reason }
const pieceBytes = 8 << 20

interface Region {
  from: number
  to: number
  /**
   * Whether the region belongs to V8. V8 maps the pages of its heaps at random addresses in the
   * lower 46 bits, at multiples of 256 KiB. The system shows such a page in parts if their access
   * differs.
   */
  isOfV8: boolean
  /** Its line in /proc/PID/maps. */
  line: string
}

function regionsOf(pid: number): Region[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').trim().split('\n')
  let endOfV8 = 0
  return lines.flatMap((line) => {
    const [range, access, , , , name = ''] = line.split(/ +/)
    const [from, to] = range!.split('-').map((hex) => Number.parseInt(hex, 16)) as [number, number]
    const isPage = from < 2 ** 46 && from % (256 << 10) === 0
    const isOfV8 = name === '' && (isPage || from === endOfV8)
    if (isOfV8) endOfV8 = to
    if (!access!.startsWith('rw') || name.startsWith('/') || name.startsWith('[v')) return []
    return [{ from, to, isOfV8, line }]
  })
}

export interface Copies {
  own: number
  ofV8: number
  /**
   * Locations of the copies in `own`, as lines of /proc/PID/maps, for the report of a failed test.
   */
  places: string[]
}

/** Counts the occurrences of the text in the memory of a process, in UTF-8 or Latin-1. */
export function copiesIn(pid: number, text: string): Copies {
  const [found, mark]: [Copies, Buffer] = [{ own: 0, ofV8: 0, places: [] }, Buffer.from(text)]
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  const piece = Buffer.alloc(pieceBytes + mark.length - 1)
  try {
    for (const { from, to, isOfV8, line } of regionsOf(pid)) {
      for (let at = from; at < to; at += pieceBytes) {
        const bytes = piece.subarray(0, readAt(memory, piece, at, to))
        for (let i = bytes.indexOf(mark); i !== -1; i = bytes.indexOf(mark, i + 1)) {
          found[isOfV8 ? 'ofV8' : 'own'] += 1
          if (!isOfV8) found.places.push(line)
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return found
}

/** Returns the number of bytes read: the region may be gone by now. */
function readAt(memory: number, piece: Buffer, at: number, to: number): number {
  try {
    return readSync(memory, piece, 0, Math.min(piece.length, to - at), at)
  } catch {
    return 0
  }
}

/** Returns the ids of the child processes of a process. */
export function childrenOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ')
  })
  return children.map(Number).filter((child) => child > 0)
}
