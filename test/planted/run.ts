// npm run planted -- [NAME…]: plants each bug (patches.ts), or the named ones, in a copy of the
// last commit, builds it, and runs the predicted tests until one fails, and the predicted seeds of
// the simulation. What fails has to pass in a second copy, which has no bug. The copies are
// worktrees of git in a temporary directory.
//
// Each outcome goes at once into the table of docs/faults.md (outcomes.ts). Without names, bugs
// whose row is of this commit are left out, so that the command continues a run that was ended.
//
// Exit code: 0 if all were found; 1 if one survives, does not apply or does not build, or if a test
// fails without a bug.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isFound, note, type Outcome, outcomesIn, readPage } from './outcomes.ts'
import { complaintOf, type Planted, plantedBugs, type Simulated, top } from './patches.ts'

const parent = mkdtempSync(join(tmpdir(), 'agent-forum-planted-'))
/** The copy in which bugs are planted, and the one without any. */
const [planted, clean] = [join(parent, 'planted'), join(parent, 'clean')]

function git(...args: string[]): string {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  return execFileSync('git', args, { cwd: top, stdio: [...stdio], encoding: 'utf8' }).trim()
}

/** Runs a command in a copy. */
async function run(tree: string, command: string, args: readonly string[]) {
  const begun = performance.now()
  const child = spawn(command, args, { cwd: tree, stdio: ['ignore', 'pipe', 'ignore'] })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { isGood: code === 0, output, seconds: (performance.now() - begun) / 1000 }
}

const build = (tree: string) => run(tree, 'npm', ['run', '--silent', 'build'])

const node = (tree: string, args: readonly string[]) => run(tree, process.execPath, args)

/** Throws if this fails without the bug, too. */
async function checkWithout(args: readonly string[]): Promise<void> {
  const { isGood, output } = await node(clean, args)
  if (!isGood) throw new Error(`without a bug:\n${output}`)
}

/** Returns what found the bug; a text says why it could not be planted. */
async function plant(bug: Planted): Promise<Outcome | string> {
  const { file, foundBy, simulation } = bug
  if ((await complaintOf(bug, planted)) !== null) return 'the patch does not apply'
  git('-C', planted, 'apply', file)
  try {
    if (!(await build(planted)).isGood) return 'it does not build'
    const outcome = { test: '', simulation: '', commit }
    for (const name of foundBy) {
      const args = ['dist/test/run.js', `dist/test/${name}.test.js`]
      const { isGood, seconds } = await node(planted, args)
      if (isGood) continue
      await checkWithout(args)
      outcome.test = `\`test/${name}.test.ts\`, ${Math.ceil(seconds)} s`
      break
    }
    if (simulation !== null) outcome.simulation = await seedOf(simulation)
    return outcome
  } finally {
    git('-C', planted, 'apply', '--reverse', file)
  }
}

/** Returns the first seed that fails, in words. */
async function seedOf({ seeds, nodes }: Simulated): Promise<string> {
  const args = ['dist/test/simulate/simulate.js', '--nodes', `${nodes}`, '--seeds']
  const { output } = await node(planted, [...args, `${seeds}`])
  const [, seed] = /^seed (\d+) fails/m.exec(output) ?? []
  if (seed === undefined) return `not in ${seeds} seeds`
  await checkWithout([...args, '1', '--seed', seed])
  return `seed ${seed}`
}

const names = process.argv.slice(2)
const commit = git('rev-parse', '--short=8', 'HEAD')
const known = outcomesIn(readPage())
const bugs = plantedBugs().filter(({ name }) => {
  return names.length === 0 ? known.get(name)?.commit !== commit : names.includes(name)
})
const unknown = names.filter((name) => !bugs.some((bug) => bug.name === name))
if (unknown.length > 0) throw new Error(`no such patch: ${unknown.join(', ')}`)

let missed = 0
try {
  for (const tree of [planted, clean]) {
    git('worktree', 'add', '--quiet', '--detach', tree)
    symlinkSync(join(top, 'node_modules'), join(tree, 'node_modules'))
  }
  if (!(await build(clean)).isGood) throw new Error('the last commit does not build')
  for (const bug of bugs) {
    const outcome = await plant(bug)
    if (typeof outcome !== 'string') note(bug.name, outcome)
    if (typeof outcome === 'string' || !isFound(outcome)) missed += 1
    console.log(bug.name, outcome)
  }
} finally {
  rmSync(parent, { recursive: true, force: true })
  git('worktree', 'prune')
}
console.log(`${bugs.length - missed} of ${bugs.length} planted bugs were found`)
process.exitCode = missed === 0 ? 0 : 1
