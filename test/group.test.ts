// A group of test files in one process: what is reported of each, when one of them goes wrong.

import { spawnSync } from 'node:child_process'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { type FileResult, fileResults } from './group-results.ts'
import { testsDirectory } from './jobs.ts'

/** Runs these files, given by their code, as a group. */
function groupOf(t: Test, codes: Record<string, string>) {
  const withTap = Object.entries(codes).map(([name, code]) => [
    name,
    `import t from 'tap'\n${code}`,
  ])
  const directory = t.testdir(Object.fromEntries(withTap))
  const files = Object.keys(codes).map((name) => join(directory, name))
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(testsDirectory, 'group.js'), ...files],
    { encoding: 'utf8' },
  )
  const names = files.map((file) => relative(testsDirectory, file))
  return { status, stdout, results: fileResults(stdout, names) }
}

const areGood = (results: FileResult[]) => results.map(({ isGood }) => isGood)
const passes = 't.test("a file: passes", async (t) => t.ok(true))'

t.test('group: one fails, one has no tests: exactly they are reported as failed', async (t) => {
  const { status, stdout, results } = groupOf(t, {
    'good.js': passes,
    'fails.js':
      't.test("a file: fails", async (t) => { t.ok(false, "what must hold"); t.ok(true) })',
    'empty.js': '',
    'later.js': passes,
  })
  t.same(areGood(results), [true, false, false, true])
  const [good, fails, empty] = results
  t.match(fails!.output, /not ok 1 - what must hold/)
  t.match(empty!.output, /The file has no tests\.$/)
  t.notMatch(good!.output, /not ok/)
  t.match(stdout, /^# \{ total: 4, pass: 3, fail: 1 \}$/m)
  t.equal(status, 1)
})

t.test('group: one has a hook for its process: it fails, and says why', async (t) => {
  const hook = 't.before(() => {})'
  const { status, results } = groupOf(t, { 'good.js': passes, 'hook.js': `${hook}; ${passes}` })
  t.same(areGood(results), [true, false])
  t.match(results[1]!.output, /this file has to be `alone`/)
  t.equal(status, 1)
})

t.test(
  'group: one tears down: at its end, the newest first, and one that throws fails',
  async (t) => {
    const say = (word: string) => `t.teardown(() => console.log("# ${word}"))`
    const { status, stdout, results } = groupOf(t, {
      'clean.js': `${say('second')}; ${say('first')}; ${passes}`,
      'throws.js': `t.teardown(async () => { throw new Error("a node failed") }); ${passes}`,
      'later.js': passes,
    })
    t.same(areGood(results), [true, false, true])
    t.match(results[0]!.output, /^ok [\s\S]*^# first\n# second\n# end /m)
    t.match(results[1]!.output, /^not ok \d+ - a teardown throws Error: a node failed$/m)
    t.match(stdout, /^# \{ total: 4, pass: 3, fail: 1 \}$/m)
    t.equal(status, 1)
  },
)

t.test('group: one ends the process: it and those behind it are reported', async (t) => {
  const { status, results } = groupOf(t, {
    'good.js': passes,
    'exits.js': 't.test("a file: exits", async (t) => { t.ok(true); process.exit(0) })',
    'later.js': passes,
  })
  t.same(areGood(results), [true, false, false])
  t.match(results[1]!.output, /The process ended while this file ran\.$/)
  t.match(results[2]!.output, /The process ended before this file was run\.$/)
  t.equal(status, 1, 'tap notices that its test has not ended')
})
