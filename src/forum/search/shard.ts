// A shard: the words of at most `shardMessages` messages with consecutive numbers, as one database.
//
//   being built   a file without a name, which nobody else can reach      ──seal──▶
//   sealed        0000131072-9f3a61c0.shard: never changes again; its name has its CRC-32
//
// S1. A sealed file is complete, or its CRC is wrong. So nothing in it needs to be synced: whatever
//     a crash leaves half done is detected and built again.
// S2. A file holds no text that was removed before the file was begun. To take a text out, the
//     shard is built again from the messages that the forum still has (index.ts). A process that
//     has outlived its node does not seal a shard either, because the next process would not know
//     of it.
// S3. Messages of private threads are in a table of their own, which is searched only for callers
//     who take part in such a thread. So messages that callers may not read cost their searches no
//     time.
//
// The tables store no content, only which words stand where in which message. Their journal is in
// memory, because SQLite refuses to write one for a file without a name.

import { closeSync, copyFileSync, fstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Database, Engine, Statement } from './engine.ts'

/** The number of messages in a shard: 131,072 take 20 to 40 MB, and 3 to 5 seconds to build. */
export const shardMessages = 2 ** 17
/** Raised when the format of the files changes, or the way in which a text becomes words. */
const shardVersion = 3
const pageBytes = 4096
/** The process that started this one. When it ends, this one gets another parent. */
const node = process.ppid

export interface Entry {
  message: number
  isPublic: boolean
  /** Words and marks with spaces between them (query.ts). */
  words: string
}

/** A shard's description of itself, which its file contains. */
export interface About {
  /** The forum, and the format of the index. */
  identity: string
  /** The number of its first message. */
  first: number
  /** The number after its last message. */
  end: number
  /** The id of its last message, by which the forum recognizes its own log. */
  lastId: string
  /** It holds no text that was removed at or before this position. */
  erased: number
}

export function identityOf(forum: string, engine: Engine): string {
  return `${shardVersion} ${engine.name} ${process.versions.unicode} ${forum}`
}

export interface SealedName {
  name: string
  first: number
  crc: number
}

/** Returns the parts of the name of a sealed file, or null if it is not one. */
export function sealedName(name: string): SealedName | null {
  const [, first, crc] = /^(\d{10})-([0-9a-f]{8})\.shard$/.exec(name) ?? []
  if (first === undefined) return null
  return { name, first: Number(first), crc: Number.parseInt(crc!, 16) }
}

/** Returns whether a file of this name was being built by a process that may have ended. */
export function isUnfinished(name: string): boolean {
  return /^\d+-\d+\.building(-journal)?$/.test(name)
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

  /** Returns the shard's description of itself. Throws if the file is damaged. */
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

  /** Returns at most `limit` messages with lower numbers than `before`, the newest first. */
  search(isPublic: boolean, match: string, before: number, limit: number): number[] {
    const statement = isPublic ? this.#public : this.#private
    const rows = statement.all(match, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
    return (rows as { message: number }[]).map(({ message }) => message)
  }

  /** Writes the shard to the directory as a sealed file and returns its name. It stays usable. */
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
      // The file is damaged, and nothing in it is needed any more.
    }
  }
}

/** Begins an empty shard. Throws if the directory or the disk has no room. */
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

/** Continues building a sealed shard, in a copy of it. Throws if it is damaged. */
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

/** Opens a shard. Closes the database if that throws: the file is damaged, or the disk is full. */
function shardIn(database: Database, settings: string, cacheBytes: number): Shard {
  try {
    database.exec(settings)
    return new Shard(database, cacheBytes)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Returns the CRC-32 of a file. */
export function crcOf(file: string): number {
  let crc = 0
  for (const piece of piecesOf(file)) crc = crc32(piece, crc)
  return crc
}

/** Yields the bytes of a file, one piece at a time. Each piece is valid until the next. */
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

/** Returns the name that a file of this process has until it is sealed or opened. */
function unnamed(first: number): string {
  return `${first}-${process.pid}.building`
}

/** Opens a file and then removes its name, so that its content goes when it is closed. */
function withoutName(file: string, open: (file: string) => Shard): Shard {
  rmSync(file, { force: true })
  try {
    return open(file)
  } finally {
    rmSync(file, { force: true })
  }
}
