// A shard: the words of at most `shardMessages` messages with consecutive numbers, as one database.
//
//   being built   a file without a name, which nobody else can reach      ──seal──▶
//   sealed        0000131072-9f3a61c0.shard: never changes any more; its name has its CRC-32
//
// S1. A sealed file is complete, or its CRC is wrong: nothing in it need be synced, as whatever a
//     crash leaves half done is found out and made again.
// S2. A file holds no text that was removed before it was begun. To take a text out, the shard is
//     built again from what the forum still has (index.ts). Nor does a process that has outlived
//     its node seal one: the next process would not know of it.
// S3. Messages of private threads are in a table of their own, in which only callers are looked for
//     who take part in one: what others may not read costs their searches no time.
//
// The tables have no content: only which words stand where in which message. Their journal is in
// memory, because SQLite refuses to write one for a file without a name.

import { closeSync, copyFileSync, fstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Database, Engine, Statement } from './engine.ts'

/** How many messages a shard has: 131,072 take 20 to 40 MB, and 3 to 5 seconds to build. */
export const shardMessages = 2 ** 17
/** Raised when what the files hold changes, or how a text becomes words. */
const form = 1
const pageBytes = 4096
/** The process that has started this one; when it ends, this one gets another parent. */
const node = process.ppid

/** A message as the index takes it. */
export interface Entry {
  message: number
  isPublic: boolean
  /** Words and marks with spaces between them (query.ts). */
  words: string
}

/** What a shard says of itself. */
export interface About {
  /** The forum, and the form of the index. */
  identity: string
  /** The number of its first message. */
  first: number
  /** The number behind its last message. */
  end: number
  /** The id of its last message, by which the forum recognizes its own log. */
  lastId: string
  /** Every removal up to this position has been taken out of it. */
  erased: number
}

/** Makes of the identity of a forum the one of its index. */
export function identityOf(forum: string, engine: Engine): string {
  return `${form} ${engine.name} ${process.versions.unicode} ${forum}`
}

export interface SealedName {
  name: string
  first: number
  crc: number
}

/** The parts of the name of a sealed file; null: it is none. */
export function sealedName(name: string): SealedName | null {
  const [, first, crc] = /^(\d{10})-([0-9a-f]{8})\.shard$/.exec(name) ?? []
  if (first === undefined) return null
  return { name, first: Number(first), crc: Number.parseInt(crc!, 16) }
}

const select = (table: string) =>
  `SELECT rowid AS message FROM ${table} WHERE ${table} MATCH ? AND rowid < ? ` +
  'ORDER BY rowid DESC LIMIT ?'

export class Shard {
  readonly #database: Database
  readonly #public: Statement
  readonly #private: Statement
  #insertPublic: Statement | null = null
  #insertPrivate: Statement | null = null

  constructor(database: Database, cacheBytes: number) {
    this.#database = database
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY')
    this.setCache(cacheBytes)
    this.#public = database.prepare(select('open'))
    this.#private = database.prepare(select('closed'))
  }

  setCache(bytes: number): void {
    this.#database.exec(`PRAGMA cache_size = -${Math.max(64, Math.floor(bytes / 1024))}`)
  }

  /** What it says of itself. Throws when the file is damaged. */
  about(): About {
    const rows = this.#database.prepare('SELECT name, value FROM about').all()
    const { identity, first, end, lastId, erased } = Object.fromEntries(
      (rows as { name: string; value: unknown }[]).map(({ name, value }) => [name, value]),
    ) as Record<string, string>
    return {
      identity: `${identity}`,
      first: Number(first),
      end: Number(end),
      lastId: `${lastId}`,
      erased: Number(erased),
    }
  }

  /** Adds messages, in the order of their numbers. */
  add(entries: readonly Entry[]): void {
    this.#insertPublic ??= this.#database.prepare('INSERT INTO open(rowid, words) VALUES (?, ?)')
    this.#insertPrivate ??= this.#database.prepare('INSERT INTO closed(rowid, words) VALUES (?, ?)')
    this.#database.exec('BEGIN')
    for (const { message, isPublic, words } of entries) {
      const insert = isPublic ? this.#insertPublic : this.#insertPrivate
      insert.run(message, words)
    }
    this.#database.exec('COMMIT')
  }

  /** At most `limit` messages with lower numbers than `before`, newest first. */
  search(isPublic: boolean, match: string, before: number, limit: number): number[] {
    const statement = isPublic ? this.#public : this.#private
    const rows = statement.all(match, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
    return (rows as { message: number }[]).map(({ message }) => message)
  }

  /** Writes it to the directory as a sealed file; returns its name. It can go on being used. */
  seal(dir: string, about: About): string {
    const insert = this.#database.prepare('INSERT OR REPLACE INTO about VALUES (?, ?)')
    for (const [name, value] of Object.entries(about)) insert.run(name, `${value}`)
    const temporary = path.join(dir, unnamed(about.first))
    rmSync(temporary, { force: true })
    try {
      this.#database.prepare('VACUUM INTO ?').run(temporary)
      const crc = crcOf(temporary).toString(16).padStart(8, '0')
      const name = `${`${about.first}`.padStart(10, '0')}-${crc}.shard`
      if (process.ppid !== node) throw new Error('the node has ended')
      renameSync(temporary, path.join(dir, name))
      return name
    } finally {
      rmSync(temporary, { force: true })
    }
  }

  close(): void {
    try {
      this.#database.close()
    } catch {
      // A damaged file, of which nothing is needed any more.
    }
  }
}

/** A shard to build from nothing. Throws where the directory or the disk has no room. */
export function newShard(engine: Engine, dir: string, first: number, cacheBytes: number): Shard {
  return withoutName(path.join(dir, unnamed(first)), (file) => {
    const settings =
      `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;` +
      'CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT);' +
      table('open') +
      table('closed')
    return shardIn(engine.open(file), settings, cacheBytes)
  })
}

/** A shard to go on building: a copy of a sealed one. Throws where that is damaged. */
export function resumedShard(
  engine: Engine,
  dir: string,
  { name, first, crc }: SealedName,
  cacheBytes: number,
): Shard {
  return withoutName(path.join(dir, unnamed(first)), (file) => {
    copyFileSync(path.join(dir, name), file)
    if (crcOf(file) !== crc) throw new Error(`${name} is damaged`)
    const settings = 'PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF'
    return shardIn(engine.open(file), settings, cacheBytes)
  })
}

export function sealedShard(engine: Engine, file: string, cacheBytes: number): Shard {
  return shardIn(engine.open(file), 'PRAGMA query_only = ON', cacheBytes)
}

/** Closes the database where it throws, because the file is damaged or the disk is full. */
function shardIn(database: Database, settings: string, cacheBytes: number): Shard {
  try {
    database.exec(settings)
    return new Shard(database, cacheBytes)
  } catch (error) {
    database.close()
    throw error
  }
}

/** The CRC-32 of a file. */
export function crcOf(file: string): number {
  let crc = 0
  for (const piece of piecesOf(file)) crc = crc32(piece, crc)
  return crc
}

/** The bytes of a file, a piece at a time: each is valid until the next. */
export function* piecesOf(file: string): Generator<Uint8Array> {
  const descriptor = openSync(file, 'r')
  try {
    const piece = new Uint8Array(Math.min(1 << 20, Math.max(1, fstatSync(descriptor).size)))
    for (;;) {
      const bytes = readSync(descriptor, piece)
      if (bytes === 0) return
      yield piece.subarray(0, bytes)
    }
  } finally {
    closeSync(descriptor)
  }
}

const table = (name: string) =>
  `CREATE VIRTUAL TABLE ${name} USING ` +
  `fts5(words, content = '', columnsize = 0, tokenize = 'ascii');`

/** The name that a file of this process has until it is sealed, or until it is opened. */
function unnamed(first: number): string {
  return `${first}-${process.pid}.building`
}

/** Opens a file that then has no name any more: what is in it goes when it is closed. */
function withoutName(file: string, open: (file: string) => Shard): Shard {
  rmSync(file, { force: true })
  try {
    return open(file)
  } finally {
    rmSync(file, { force: true })
  }
}
