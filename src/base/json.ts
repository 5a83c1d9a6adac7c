// Reads JSON that others have written.

/** Returns the value of a JSON text, or undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
