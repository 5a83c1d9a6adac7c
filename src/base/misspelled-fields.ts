// Finds misspelled fields. Requests may carry fields that the service does not know. But
// {"visibilty": "private"} must not publish what should be private, so a near miss of a known field
// is refused.
//
// M1. A name is a near miss of a known one if at most two edits separate their letters and digits,
//     regardless of case and separators: `participantIds`, `Display-Name`, `visibilty`. An edit
//     adds, drops or replaces a letter, or swaps two neighbours.
// M2. If the known name has at most five letters, only one edit is allowed. Two would change most
//     of it: `id` would be a near miss of `kind`, and `time` and `file` of `title`.
// M3. A list of ids is also known by its plain plural: `participants` means `participant_ids`.
// M4. A time is also known without its unit, but not by near misses of that: `ttl` means
//     `ttl_seconds`, and `rtl` means nothing.

/** A spelling of a known name, and the maximum number of edits in a near miss of it. */
interface Spelling {
  known: string
  letters: string
  edits: number
}

/** The maximum number of unknown fields checked: a body with more was not typed by hand. */
const fieldsMax = 100

/** A longer name is not a near miss of any. */
const lengthMax = 40

const shortLength = 5

/** Returns a function that finds a body's first misspelled field, and the name that was meant. */
export function misspelledFields(
  known: readonly string[],
): (body: object) => { name: string; meant: string } | null {
  const names = new Set(known)
  const spellings = known.flatMap(spellingsOf)
  return (body) => {
    let unknown = 0
    for (const name in body) {
      if (names.has(name)) continue
      unknown += 1
      if (unknown > fieldsMax) return null
      const meant = nearest(name, spellings)
      if (meant !== null) return { name, meant }
    }
    return null
  }
}

/** Returns the message about an unknown field, which may be a near miss of a known one. */
export function unknownField(name: string, known: readonly string[], path = ''): string {
  const shown = JSON.stringify(path + name.slice(0, lengthMax))
  const meant = nearMiss(name, known)
  const hint = meant === null ? 'does not belong here' : `is unknown; ${meant} was probably meant`
  return `The field ${shown} ${hint}.`
}

/** Returns the known name of which this one is a near miss, or null. */
export function nearMiss(name: string, known: readonly string[]): string | null {
  return nearest(name, known.flatMap(spellingsOf))
}

function spellingsOf(known: string): Spelling[] {
  const spelling = (text: string, editsMax = 2) => {
    const letters = lettersOf(text)
    return { known, letters, edits: Math.min(editsMax, letters.length <= shortLength ? 1 : 2) }
  }
  const [plural, unitless] = [known.replace(/_ids$/, 's'), known.replace(/_seconds$/, '')]
  return [spelling(known), spelling(plural), spelling(unitless, 0)]
}

/** Returns the known name that takes the fewest edits, or null if none is near. */
function nearest(name: string, spellings: readonly Spelling[]): string | null {
  if (name.length > lengthMax) return null
  const letters = lettersOf(name)
  for (let edits = 0; edits <= 2; edits++) {
    const near = spellings.find((spelling) => {
      return edits <= spelling.edits && isWithin(edits, letters, spelling.letters)
    })
    if (near !== undefined) return near.known
  }
  return null
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Returns whether at most `edits` edits turn one text into the other. */
function isWithin(edits: number, one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > edits) return false
  let same = 0
  while (same < one.length && one[same] === other[same]) same += 1
  const [a, b] = [one.slice(same), other.slice(same)]
  if (a === b) return true
  if (edits === 0) return false
  return (
    isWithin(edits - 1, a.slice(1), b.slice(1)) ||
    isWithin(edits - 1, a.slice(1), b) ||
    isWithin(edits - 1, a, b.slice(1)) ||
    (a[0] === b[1] && a[1] === b[0] && isWithin(edits - 1, a.slice(2), b.slice(2)))
  )
}
