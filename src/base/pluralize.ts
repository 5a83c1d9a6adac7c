// Formats counts in sentences.

/** Returns `1 record`, `2 records`. */
export function pluralize(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
