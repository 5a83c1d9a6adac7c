// npm run planted -- [NAME…]: plants each bug (patches.ts), or the named ones, in a copy of the
// last commit, builds it, and runs the predicted tests until one fails. It prints for each the test
// that found it, and after how many seconds of that test. The copy is a worktree of git in a
// temporary directory.
//
// Exit code: 0 if all were found; 1 if one survives, does not apply or does not build.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complaintOf, type Planted, plantedBugs, top } from './patches.ts'

const parent = mkdtempSync(join(tmpdir(), 'agent-forum-planted-'))
const tree = join(parent, 'tree')

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Runs a command in the copy; resolves to whether it succeeded, and the seconds that it took. */
async function timed(command: string, args: readonly string[]) {
  const begun = performance.now()
  const child = spawn(command, args, { cwd: tree, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  return { isGood: code === 0, seconds: (performance.now() - begun) / 1000 }
}

interface Attempt {
  name: string
  args: readonly string[]
}

function attemptsOf({ foundBy, simulation }: Planted): Attempt[] {
  const attempts: Attempt[] = foundBy.map((name) => {
    return { name: `test/${name}.test.ts`, args: ['dist/test/run.js', `dist/test/${name}.test.js`] }
  })
  if (simulation === null) return attempts
  const { seeds, nodes } = simulation
  const args = ['dist/test/simulate/simulate.js', '--seeds', seeds, '--nodes', nodes]
  const name = `npm run simulate -- ${args.slice(1).join(' ')}`
  return [...attempts, { name, args }]
}

/** Resolves to the test that found the bug, or to why none did. */
async function find(bug: Planted): Promise<{ isFound: boolean; outcome: string }> {
  const failed = (outcome: string) => ({ isFound: false, outcome })
  if ((await complaintOf(bug, tree)) !== null) return failed('the patch does not apply')
  git('apply', bug.file)
  try {
    const built = await timed('npm', ['run', '--silent', 'build'])
    if (!built.isGood) return failed('it does not build')
    for (const { name, args } of attemptsOf(bug)) {
      const { isGood, seconds } = await timed(process.execPath, args)
      if (!isGood) return { isFound: true, outcome: `${name}, ${Math.ceil(seconds)} s` }
    }
    return failed('nothing found it')
  } finally {
    git('apply', '--reverse', bug.file)
  }
}

const names = process.argv.slice(2)
const bugs = plantedBugs().filter(({ name }) => names.length === 0 || names.includes(name))
const unknown = names.filter((name) => !bugs.some((bug) => bug.name === name))
if (unknown.length > 0) throw new Error(`no such patch: ${unknown.join(', ')}`)

let missed = 0
execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree], { cwd: top })
try {
  symlinkSync(join(top, 'node_modules'), join(tree, 'node_modules'))
  for (const bug of bugs) {
    const { isFound, outcome } = await find(bug)
    if (!isFound) missed += 1
    console.log(`${bug.name}: ${bug.mistake} ${outcome}`)
  }
} finally {
  execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: top })
  rmSync(parent, { recursive: true, force: true })
}
console.log(`${bugs.length - missed} of ${bugs.length} planted bugs were found`)
process.exitCode = missed === 0 ? 0 : 1
