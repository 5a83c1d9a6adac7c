// The engine of the index: SQLite with FTS5, which Node includes from 22.16 and 24 on; elsewhere
// libsql, a build of it from npm that is installed if the platform has one.

import { createRequire } from 'node:module'

export interface Statement {
  run(...values: readonly (string | number)[]): unknown
  all(...values: readonly (string | number)[]): unknown[]
}

export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): void
}

export interface Engine {
  name: 'node:sqlite' | 'libsql'
  /** The version of SQLite. Only an engine of another name makes the index be built again. */
  version: string
  open(path: string): Database
}

type Constructor = new (path: string) => Database

const require = createRequire(import.meta.url)

/** Returns the first engine that loads and has FTS5, or null if none does. */
export function findEngine(): Engine | null {
  return (
    engineOf('node:sqlite', () => require('node:sqlite').DatabaseSync) ??
    engineOf('libsql', () => require('libsql'))
  )
}

function engineOf(name: Engine['name'], load: () => Constructor): Engine | null {
  try {
    const Database = load()
    const open = (path: string) => new Database(path)
    const probe = open(':memory:')
    probe.exec(`CREATE VIRTUAL TABLE probe USING fts5(text, content='')`)
    const [row] = probe.prepare('SELECT sqlite_version() AS version').all()
    probe.close()
    return { name, version: (row as { version: string }).version, open }
  } catch {
    return null // not in this Node, or not for this platform
  }
}
