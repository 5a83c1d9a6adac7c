// The entry point of the executable (build/executable.ts): runs the command line, or the process of
// the program that its first argument names (base/program-files.ts, F2).

import { type ProcessName, processPrefix } from '../base/program-files.ts'

const processes: Record<ProcessName, () => Promise<unknown>> = {
  reader: () => import('../node/reader-process.ts'),
  search: () => import('../forum/search/process.ts'),
}

const [, , first = ''] = process.argv
const name = Object.keys(processes).find((each) => first === processPrefix + each)
if (name === undefined) void import('./commands.ts')
else void processes[name as ProcessName]()
