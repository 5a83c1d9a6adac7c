// Gives the memory of dead nodes to new ones. A node allocates a large zeroed chunk for each of its
// columns, and the simulation starts thousands of nodes that fill only a few rows. Zeroing and
// collecting the chunks took more than half of its time. The large buffers for text and feed items
// are not recycled: the system zeroes their memory as it is first touched, and V8 does not count it
// (test/uncounted-memory.ts).
//
// Y1. Recycled memory looks new: it is zero wherever a short life can have written.

import '../uncounted-memory.ts'

const chunkBytesMin = 16 * 1024
/** More rows than a simulated life fills. */
const rowsUsedMax = 16 * 1024

type Memory = Uint8Array | Uint16Array | Uint32Array | Float64Array
type Constructor = new (size: number) => Memory

const recycled = { Uint8Array, Uint16Array, Uint32Array, Float64Array }
const free = new Map<string, Memory[]>()
let inUse: { owner: string | null; key: string; memory: Memory }[] = []

/**
 * Makes large allocations reuse the memory of dead nodes from now on, if there is any. `ownerOf`
 * returns which of several nodes is allocating.
 */
export function recycleMemory(ownerOf: () => string | null = () => null): void {
  for (const [name, real] of Object.entries(recycled)) {
    const construct = (target: Constructor, args: unknown[], newTarget: Constructor) => {
      const [size] = args
      if (typeof size !== 'number' || size < chunkBytesMin) {
        return Reflect.construct(target, args, newTarget)
      }
      const key = `${name} ${size}`
      const memory = free.get(key)?.pop() ?? (Reflect.construct(target, args) as Memory)
      inUse.push({ owner: ownerOf(), key, memory })
      return memory
    }
    Object.assign(globalThis, { [name]: new Proxy(real as Constructor, { construct }) })
  }
}

export function keepMemory(): void {
  Object.assign(globalThis, recycled)
}

/** Frees the memory of one dead node, or of all nodes, for reuse. */
export function freeMemory(owner: string | null = null): void {
  const kept = owner === null ? [] : inUse.filter((used) => used.owner !== owner)
  for (const used of inUse) {
    if (owner !== null && used.owner !== owner) continue
    const { key, memory } = used
    memory.fill(0, 0, rowsUsedMax)
    const pool = free.get(key)
    if (pool === undefined) free.set(key, [memory])
    else pool.push(memory)
  }
  inUse = kept
}
