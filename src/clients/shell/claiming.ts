// claim and release.

import { identified, type Session } from './session.ts'
import { keyOf, numberOf, oneThread, optional } from './words.ts'

/** How long a claim lasts by default. */
const claimSeconds = 300

interface ClaimFlags {
  seconds?: string
  fence?: string
  key?: string
}

/** Claims a thread, and prints the fence of the claim. */
export async function claim(
  session: Session,
  words: readonly string[],
  { seconds, fence, key }: ClaimFlags,
): Promise<void> {
  const thread = oneThread('claim', words)
  const wanted = {
    seconds: numberOf('seconds', seconds, 1) ?? claimSeconds,
    ...optional('fence', numberOf('fence', fence)),
  }
  const granted = await identified(session).claim(thread, wanted, keyOf(key))
  session.output.answer(granted, `${granted.fence}`)
}

export async function release(session: Session, words: readonly string[]): Promise<void> {
  const thread = oneThread('release', words)
  const released = await identified(session).releaseClaim(thread)
  session.output.answer(released, `${thread} is not claimed`)
}
