// What was found to differ: all are counted, the first few are kept to be shown.

const shownMax = 10
const excerptCharacters = 24

/** Counts all, keeps the first. */
export class Differences {
  count = 0
  readonly first: string[] = []

  add(what: string): void {
    if (this.count++ < shownMax) this.first.push(what)
  }
}

/** Where two texts part, with what stands there. They must differ. */
export function parting(got: string, due: string): string {
  let at = 0
  while (got[at] === due[at]) at++
  const excerpt = (text: string) => JSON.stringify(text.slice(at, at + excerptCharacters))
  return (
    `at character ${at + 1}: ${excerpt(got)} (${got.length} characters), ` +
    `due: ${excerpt(due)} (${due.length} characters)`
  )
}
