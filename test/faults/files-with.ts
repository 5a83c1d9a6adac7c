// Looks for text in the files of a directory, while a node may be changing them.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns whether the file has the word. One that has just gone counts: look again. */
function hasWord(file: string, word: string): boolean {
  try {
    return readFileSync(file).includes(word)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return true
  }
}

/** Returns the files in the directory and below that have the word. */
export function filesWith(dir: string, word: string): string[] {
  const entries = readdirSync(dir, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => hasWord(file, word))
}
