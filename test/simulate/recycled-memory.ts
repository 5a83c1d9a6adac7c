// Memory of dead nodes for new ones. A node takes a large chunk of zeros for each of its columns,
// and the simulation starts thousands of nodes that fill a few rows: zeroing and collecting the
// chunks took more than half of its time.
//
// Y1. What is handed out looks new: zero, as far as a short life can have written.

import { pageBytes } from '../../src/state/arena.ts'

const chunkBytesMin = 16 * 1024
/** More rows than a simulated life can fill. */
const rowsUsedMax = 16 * 1024
/** More rendered text than that. */
const bytesUsedMax = 1 << 20

type Memory = ArrayBuffer | Uint8Array | Uint16Array | Uint32Array | Float64Array
type Constructor = new (size: number) => Memory

const recycled = { ArrayBuffer, Uint8Array, Uint16Array, Uint32Array, Float64Array }
const free = new Map<string, Memory[]>()
let inUse: { key: string; memory: Memory }[] = []

/** From here on large pieces of memory are taken from dead nodes where there are any. */
export function recycleMemory(): void {
  for (const [name, real] of Object.entries(recycled)) {
    const construct = (target: Constructor, args: unknown[], newTarget: Constructor) => {
      const [size] = args
      if (typeof size !== 'number' || size < chunkBytesMin) {
        return Reflect.construct(target, args, newTarget)
      }
      const key = `${name} ${size}`
      const memory = free.get(key)?.pop() ?? (Reflect.construct(target, args) as Memory)
      inUse.push({ key, memory })
      return memory
    }
    Object.assign(globalThis, { [name]: new Proxy(real as Constructor, { construct }) })
  }
}

export function keepMemory(): void {
  Object.assign(globalThis, recycled)
}

/** The node is dead, and so is all that it held. */
export function freeMemory(): void {
  for (const { key, memory } of inUse) {
    if (memory instanceof ArrayBuffer) clear(memory)
    else memory.fill(0, 0, rowsUsedMax)
    const pool = free.get(key)
    if (pool === undefined) free.set(key, [memory])
    else pool.push(memory)
  }
  inUse = []
}

/** A chunk of the arena begins with a scratch page, which nobody expects to be zero. */
function clear(memory: ArrayBuffer): void {
  const bytes = Math.min(memory.byteLength, pageBytes + bytesUsedMax)
  const from = bytes > pageBytes ? pageBytes : 0
  new recycled.Uint8Array(memory, from, bytes - from).fill(0)
}
