// A program: runs the test files of its arguments one after the other in this process, so that
// Node, tap and what the files import are loaded once and not for each of them. jobs.ts decides
// which files share a process; each can also be run alone, with node.
//
// Around the TAP of a file stand two lines, by which group-results.ts knows what each has done, and
// which of them ended the process or went on for too long:
//
//   # begin state/heap.test.js
//   # end state/heap.test.js 97 ms
//
// The process belongs to all of its files. One that changes what others see, like a variable of the
// environment, has to restore it at the end of its test, or to have a process of its own (`alone`
// in jobs.ts). So does one with a hook for all of its tests, which tap would run at the end of the
// process. What a file tears down at its end is torn down there, like the node of all of its tests.

import { once } from 'node:events'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { timeoutMs } from './depth.ts'

const files = process.argv.slice(2)

// tap does not print the cause of an error, and without it a failed property says only its seed.
fc.configureGlobal({ includeErrorInReport: true })

for (const name of ['before', 'beforeEach', 'after', 'afterEach'] as const) {
  t[name] = () => {
    throw new Error(`t.${name} outside of a test: this file has to be \`alone\` in test/jobs.ts`)
  }
}

const teardowns: (() => unknown)[] = []
t.teardown = (teardown: () => unknown) => {
  teardowns.unshift(teardown)
}

for (const file of files) {
  const name = relative(import.meta.dirname, file)
  const begun = performance.now()
  t.comment(`begin ${name}`)
  // Each file has the time that it has alone.
  t.setTimeout(timeoutMs)
  // The directories of its tests have the names that they have when it runs alone.
  t.testdirName = join('.tap', 'fixtures', name.replaceAll('/', '-'))
  await import(pathToFileURL(file).href)
  if (!t.idle) await once(t as unknown as NodeJS.EventEmitter, 'idle')
  // The limit was exceeded, and tap has ended everything.
  if (t.ended) break
  for (const teardown of teardowns.splice(0)) {
    try {
      await teardown()
    } catch (error) {
      t.fail(`a teardown throws ${error}`)
    }
  }
  t.comment(`end ${name} ${(performance.now() - begun).toFixed(0)} ms`)
}
