// The beginning of a content, with a note of what is left out. The service cuts contents where its
// caller wants that, and so do clients that have less room.

export interface WithContent {
  content: string
  removed?: true
}

interface CutMark {
  content_truncated?: true
  content_length?: number
}

/**
 * Returns the message with at most `charactersMax` code points of its content, and with the length
 * of the whole content if that is longer. What stands in place of a removed content is never cut.
 */
export function cutContent<T extends WithContent>(shown: T, charactersMax: number): T & CutMark {
  const { content, removed } = shown
  let [length, end] = [0, content.length]
  for (let at = 0; at < content.length; length++) {
    if (length === charactersMax) end = at
    at += content.codePointAt(at)! > 0xffff ? 2 : 1
  }
  if (end === content.length || removed) return shown
  const start = content.slice(0, end)
  return { ...shown, content: start, content_truncated: true, content_length: length }
}
