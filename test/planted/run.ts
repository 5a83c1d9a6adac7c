// npm run planted -- [NAME…]: plants each bug (patches.ts), or the named ones, in a copy of the
// last commit, builds it, and runs the predicted tests until one fails, and the predicted seeds of
// the simulation. Before, all of them have to pass without a bug. The copy is a worktree of git in
// a temporary directory.
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
const tree = join(parent, 'tree')

function git(...args: string[]): string {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  return execFileSync('git', args, { cwd: top, stdio: [...stdio], encoding: 'utf8' }).trim()
}

/** Runs a command in the copy. */
async function run(command: string, args: readonly string[]) {
  const begun = performance.now()
  const child = spawn(command, args, { cwd: tree, stdio: ['ignore', 'pipe', 'ignore'] })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { isGood: code === 0, output, seconds: (performance.now() - begun) / 1000 }
}

const build = () => run('npm', ['run', '--silent', 'build'])

function runTests(names: readonly string[]) {
  const files = names.map((name) => `dist/test/${name}.test.js`)
  return run(process.execPath, ['dist/test/run.js', ...files])
}

function simulate({ seeds, nodes }: Simulated) {
  const args = ['--seeds', `${seeds}`, '--nodes', `${nodes}`]
  return run(process.execPath, ['dist/test/simulate/simulate.js', ...args])
}

/** Throws if a test or a seed fails without a bug. */
async function checkCopy(bugs: readonly Planted[]): Promise<void> {
  const ran = [await build(), await runTests([...new Set(bugs.flatMap(({ foundBy }) => foundBy))])]
  for (const nodes of [1, 2]) {
    const simulations = bugs.flatMap(({ simulation }) => simulation ?? [])
    const seeds = simulations.filter((each) => each.nodes === nodes).map((each) => each.seeds)
    if (seeds.length > 0) ran.push(await simulate({ nodes, seeds: Math.max(...seeds) }))
  }
  const bad = ran.find(({ isGood }) => !isGood)
  if (bad !== undefined) throw new Error(`without a bug:\n${bad.output}`)
}

/** Returns what found the bug; a text says why it could not be planted. */
async function plant(bug: Planted): Promise<Outcome | string> {
  const { file, foundBy, simulation } = bug
  if ((await complaintOf(bug, tree)) !== null) return 'the patch does not apply'
  git('-C', tree, 'apply', file)
  try {
    if (!(await build()).isGood) return 'it does not build'
    const outcome = { test: '', simulation: '', commit }
    for (const each of foundBy) {
      const { isGood, seconds } = await runTests([each])
      if (isGood) continue
      outcome.test = `\`test/${each}.test.ts\`, ${Math.ceil(seconds)} s`
      break
    }
    if (simulation !== null) {
      const [, seed] = /^seed (\d+) fails/m.exec((await simulate(simulation)).output) ?? []
      outcome.simulation = seed === undefined ? `not in ${simulation.seeds} seeds` : `seed ${seed}`
    }
    return outcome
  } finally {
    git('-C', tree, 'apply', '--reverse', file)
  }
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
git('worktree', 'add', '--quiet', '--detach', tree)
try {
  symlinkSync(join(top, 'node_modules'), join(tree, 'node_modules'))
  if (bugs.length > 0) await checkCopy(bugs)
  for (const bug of bugs) {
    const outcome = await plant(bug)
    if (typeof outcome !== 'string') note(bug.name, outcome)
    if (typeof outcome === 'string' || !isFound(outcome)) missed += 1
    console.log(bug.name, outcome)
  }
} finally {
  git('worktree', 'remove', '--force', tree)
  rmSync(parent, { recursive: true, force: true })
}
console.log(`${bugs.length - missed} of ${bugs.length} planted bugs were found`)
process.exitCode = missed === 0 ? 0 : 1
