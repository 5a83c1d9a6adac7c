// The differences that a verification finds: all are counted, and the first few are shown.

const shownMax = 10
const excerptCharacters = 24

export class Differences {
  count = 0
  readonly first: string[] = []

  add(what: string): void {
    if (this.count++ < shownMax) this.first.push(what)
  }

  /** Adds those of another verification. */
  include({ count, first }: Pick<Differences, 'count' | 'first'>): void {
    this.count += count
    this.first.push(...first.slice(0, shownMax - this.first.length))
  }
}

/** Describes where two texts begin to differ, with an excerpt of each. They must differ. */
export function firstDifference(got: string, due: string): string {
  let at = 0
  while (got[at] === due[at]) at++
  const excerpt = (text: string) => JSON.stringify(text.slice(at, at + excerptCharacters))
  return (
    `at character ${at + 1}: ${excerpt(got)} (${got.length} characters), ` +
    `due: ${excerpt(due)} (${due.length} characters)`
  )
}
