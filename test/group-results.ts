// What each file of a group has done, from what the group wrote (test/group.ts).

export interface FileResult {
  file: string
  isGood: boolean
  seconds: number
  /** What the file wrote, with a last line that says why it is not good where TAP does not. */
  output: string
}

/** The results of `files`, in this order, from the standard output and errors of their group. */
export function fileResults(output: string, files: readonly string[]): FileResult[] {
  const [, ...parts] = output.split(/^# begin /m)
  return files.map((file) => {
    const part = parts.find((part) => part.startsWith(`${file}\n`))
    if (part === undefined) return bad(file, 'The process ended before this file was run.')
    const end = /^# end .* (\d+) ms$/m.exec(part)
    if (end === null) return bad(file, `${part}\nThe process ended while this file ran.`)
    if (!/^(not )?ok /m.test(part)) return bad(file, `${part}\nThe file has no tests.`)
    const isGood = !/^not ok /m.test(part)
    return { file, isGood, seconds: Number(end[1]) / 1000, output: part }
  })
}

function bad(file: string, output: string): FileResult {
  return { file, isGood: false, seconds: 0, output }
}
