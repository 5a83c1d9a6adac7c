// Files that an operating system puts into a directory by itself, which are of no program.

const systemNames = new Set(['lost+found', '.DS_Store', '.Trashes', '.fseventsd', '.snapshot'])

/** Returns whether the operating system makes files of this name, or a file system at its root. */
export function isSystemFile(name: string): boolean {
  return systemNames.has(name)
}
