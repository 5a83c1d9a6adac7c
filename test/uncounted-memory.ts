// Keeps the large buffers of nodes in memory from starting garbage collections; run.ts loads it
// into each test process.
//
// A state reserves 80 MiB for text and for feed items, of which a test uses a few pages. V8 counts
// all of it, and begins to mark the whole heap whenever 64 MiB have been added. So each state that
// a test made cost a full collection, and these took a third to a half of the processor time of
// tests with nodes in memory: the group with test/edge/http takes 29 s with this and 43 s without.
//
// V8 does not count shared memory. What is not used of it takes only addresses, and it is given
// back by the collections that other garbage causes.

/** Less than the smaller of the two buffers, and more than tests allocate otherwise. */
const bytesMin = 16 << 20

globalThis.ArrayBuffer = new Proxy(ArrayBuffer, {
  construct(target, [size, ...rest]: [number, ...unknown[]], newTarget) {
    if (size >= bytesMin) return new SharedArrayBuffer(size)
    return Reflect.construct(target, [size, ...rest], newTarget)
  },
})
