// Checkpoints as objects beside the stream: a leader uploads them, and a node without a log
// downloads the newest one. The note `checkpoint` lists the files, each of which is divided into
// pieces.
//
//   note      checkpoint = { version, node, number, store, position, form, pieceBytes,
//                            files: [{ name, bytes, crc }, …] }
//   objects   <node>.<name>.<crc>.0, .1, …        0000000007.pages, .parity, .checkpoint
//
//   `node` is <id of the node>.<pieceBytes>, and the prefix of the objects' names.
//
// X1. Page files never change once a manifest names them, so each is uploaded once. An object's
//     name has the file's crc and the piece length. So a file is never mistaken for another one of
//     the same name, nor a piece for one from a time when the servers' message limit was different.
// X2. The note is written when all objects exist, and only if no other node has written it
//     meanwhile. Objects that it does not name are removed afterwards, including those with erased
//     text.
// X3. A download becomes a checkpoint when its manifest is written, after all else is durable.
//     Where a log is replaced, all of it is downloaded and checked before anything of the log is
//     touched.
// X4. A note is refused if it names anything but files of a checkpoint, so a download writes no
//     other files.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import {
  type CheckpointDirectory,
  manifestNumbers,
} from '../../../wal/checkpoint/checkpoint-files.ts'
import {
  type Manifest,
  manifestName,
  numberIn,
  pagesName,
  parityName,
} from '../../../wal/checkpoint/manifest.ts'
import { readFullyLater, replaceFileLater, writeAllLater } from '../../../wal/disk.ts'
import {
  codeOf,
  isOfSystem,
  JournalError,
  storageError,
  versionError,
} from '../../../wal/errors.ts'
import { beginLog, besideLog } from '../../../wal/tools/begin-log.ts'
import { checkCheckpoint } from '../../../wal/tools/checkpoint-check.ts'
import { stateVersion } from '../../kernel/saved.ts'
import { type LogStream, StreamUnavailable } from './log-stream.ts'
import { StoppedEarly } from './start-again.ts'

const version = 1
const noteKey = 'checkpoint'
/** Long enough that a file has few pieces, and short enough that no piece takes long. */
const pieceBytesMax = 512 * 1024
const attemptsMax = 5

interface TransferredFile {
  name: string
  bytes: number
  crc: number
}

/** The value of the note. */
export interface CheckpointNote {
  version: number
  /** The prefix of its objects' names: the node that uploaded it, and `pieceBytes`. */
  node: string
  number: number
  /** The id of the store that its log belongs to. */
  store: string
  position: number
  form: number
  /** The length of each piece of a file except the last. */
  pieceBytes: number
  files: TransferredFile[]
}

/**
 * Returns the note of the checkpoint beside the stream, or null. Rejects with a JournalError if a
 * newer program has written the note, or if it describes no checkpoint (X4).
 */
export async function uploadedCheckpoint(stream: LogStream): Promise<CheckpointNote | null> {
  const note = await stream.notes.read(noteKey)
  return note === null ? null : checkedNote(note.value)
}

/** Whether all objects that the note names exist. Rejects with `StreamUnavailable`. */
export async function isWhole({ objects }: LogStream, note: CheckpointNote): Promise<boolean> {
  const there = new Set(await objects.list())
  for (const file of note.files) {
    for (const name of objectsOf(note, file)) if (!there.has(name)) return false
  }
  return true
}

interface UploadOptions {
  node: string
  manifest: Manifest
  /** Whether to give up, which rejects the upload; called before each piece. */
  isStopped(): boolean
}

/**
 * Uploads a checkpoint of the directory, and makes it the one beside the stream. Returns false if
 * another node has replaced the note meanwhile. Rejects with `StreamUnavailable`, and with errors
 * of the disk: ENOENT if a newer checkpoint has replaced this one.
 */
export async function uploadCheckpoint(
  stream: LogStream,
  directory: CheckpointDirectory,
  { node: id, manifest, isStopped }: UploadOptions,
): Promise<boolean> {
  const note = await stream.notes.read(noteKey)
  if (note !== null) checkedNote(note.value)
  const there = new Set(await stream.objects.list())
  const pieceBytes = Math.min(pieceBytesMax, stream.messageBytesMax)
  const node = `${id}.${pieceBytes}`
  const names = [...manifest.files.keys()].flatMap((file) => [pagesName(file), parityName(file)])
  const files: TransferredFile[] = []
  for (const name of [...names, manifestName(manifest.number)]) {
    const file = await uploadFile(stream, directory, { node, name, there, pieceBytes, isStopped })
    if (file !== null) files.push(file)
  }
  const { number, storeId: store, position, stateVersion: form } = manifest
  const about = { version, node, number, store, position, form, pieceBytes }
  const value: CheckpointNote = { ...about, files }
  const written = await stream.notes.write(noteKey, value, note?.revision ?? 0)
  if (written === null) return false
  const named = new Set(files.flatMap((file) => [...objectsOf(value, file)]))
  for (const name of there) if (!named.has(name)) await stream.objects.remove(name)
  return true
}

/**
 * Downloads a store's checkpoint from beside the stream into a directory without one. Returns null
 * if there is none. Rejects with `StreamUnavailable`, also while objects that the note names are
 * missing, and with `StoppedEarly` once `isStopped`.
 */
export async function fetchCheckpoint(
  stream: LogStream,
  directory: CheckpointDirectory,
  store: string,
  isStopped: () => boolean = () => false,
): Promise<{ position: number; storeId: string } | null> {
  for (let attempt = 1; ; attempt++) {
    const note = await uploadedCheckpoint(stream)
    if (note?.store !== store) return null
    const missing = await downloadAll(stream, directory, note, isStopped)
    if (missing === null) return { position: note.position, storeId: note.store }
    // A newer checkpoint may have replaced this one meanwhile.
    if (attempt === attemptsMax) {
      throw new StreamUnavailable(`the checkpoint beside the stream lacks ${missing}`)
    }
  }
}

/**
 * Downloads a store's checkpoint beside the log of this directory, checks that a start can use it,
 * and begins a log after it, so that this copy can replace the other (`planReplacing`). Rejects
 * with `StreamUnavailable` if there is no such checkpoint now, with a JournalError 76 if it has
 * another format, with 74 if the disk has no room for both copies, and with `StoppedEarly` once
 * `isStopped`; nothing is replaced.
 */
export async function fetchBeside(
  stream: LogStream,
  directory: CheckpointDirectory,
  store: string,
  isStopped: () => boolean,
): Promise<void> {
  const note = await uploadedCheckpoint(stream)
  if (note === null || !(await isWhole(stream, note))) throw unusable('is not whole')
  const beside = besideLog(directory)
  try {
    const fetched = await fetchCheckpoint(stream, beside, store, isStopped)
    if (fetched === null) throw unusable('is of another store')
    const { manifest, why } = await checkCheckpoint(beside, manifestNumbers(beside)[0])
    if (manifest === null) throw unusable(`is damaged: ${why}`)
    const { position, storeId } = manifest
    if (manifest.stateVersion !== stateVersion) {
      const name = manifestName(manifest.number)
      throw versionError(name, manifest.stateVersion, stateVersion, 'state')
    }
    if (position !== fetched.position || storeId !== store) throw unusable('is not as in its note')
    beginLog(beside, fetched)
  } catch (error) {
    besideLog(directory) // the space may be needed
    throw isOfSystem(error) ? storageError(`fetch a checkpoint into ${beside.dir}`, error) : error
  }
}

function unusable(why: string): StreamUnavailable {
  return new StreamUnavailable(
    `the checkpoint beside the stream ${why}: the leader uploads another`,
  )
}

function checkedNote(value: unknown): CheckpointNote {
  const note = value as CheckpointNote
  if (note.version !== version) {
    const finding = `the note of the checkpoint beside the stream has version ${note.version}`
    throw new JournalError(76, finding, { advice: 'run that version or a newer one' })
  }
  if (isDescription(note)) return note
  throw new JournalError(76, 'the note `checkpoint` beside the stream describes no checkpoint', {
    advice: 'find out who can write beside the stream, and remove this note',
  })
}

/** Whether the note names only files of a checkpoint (X4), and has a piece length. */
function isDescription({ files, pieceBytes }: CheckpointNote): boolean {
  const isName = (name: string) => {
    const number = numberIn(name)
    return [pagesName, parityName, manifestName].some((nameOf) => nameOf(number) === name)
  }
  return pieceBytes >= 1 && Array.isArray(files) && files.every(({ name }) => isName(name))
}

function* objectsOf(
  { node, pieceBytes }: CheckpointNote,
  { name, bytes, crc }: TransferredFile,
): Generator<string> {
  for (let at = 0; at < bytes || at === 0; at += pieceBytes) {
    yield objectName(node, name, crc, at / pieceBytes)
  }
}

function objectName(node: string, name: string, crc: number, index: number): string {
  return `${node}.${name}.${crc.toString(16).padStart(8, '0')}.${index}`
}

interface Uploading {
  /** `node` of the note. */
  node: string
  name: string
  /** The names of all existing objects. */
  there: ReadonlySet<string>
  pieceBytes: number
  isStopped(): boolean
}

/**
 * Uploads missing pieces. Returns null for a parity file, which is optional, that does not exist.
 */
async function uploadFile(
  { objects }: LogStream,
  { disk, dir }: CheckpointDirectory,
  { node, name, there, pieceBytes, isStopped }: Uploading,
): Promise<TransferredFile | null> {
  let file: number
  try {
    file = disk.open(path.join(dir, name), 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && name.endsWith('.parity')) return null
    throw error
  }
  try {
    const bytes = disk.size(file)
    const pieces = async function* () {
      for (let at = 0; at < bytes || at === 0; at += pieceBytes) {
        if (isStopped()) throw new StreamUnavailable('the upload was stopped')
        // Each piece needs its own buffer, because the client may resend one that seems lost.
        const piece = Buffer.alloc(Math.min(pieceBytes, bytes - at))
        yield piece.subarray(0, await readFullyLater(disk, file, piece, at))
      }
    }
    let crc = 0
    for await (const piece of pieces()) crc = crc32(piece, crc)
    let index = 0
    for await (const piece of pieces()) {
      const object = objectName(node, name, crc, index)
      if (!there.has(object)) await objects.put(object, piece)
      index += 1
    }
    return { name, bytes, crc }
  } finally {
    disk.close(file)
  }
}

/** Returns the name of a file that is incomplete beside the stream, or null. */
async function downloadAll(
  stream: LogStream,
  directory: CheckpointDirectory,
  note: CheckpointNote,
  isStopped: () => boolean,
): Promise<string | null> {
  const { disk, dir } = directory
  for (const file of note.files) {
    for (const name of disk.list(dir)) {
      if (name === file.name || name === `${file.name}.tmp`) disk.remove(path.join(dir, name))
    }
    try {
      const target = path.join(dir, file.name)
      await replaceFileLater(disk, target, (to) =>
        download(stream, disk, to, { note, file, isStopped }),
      )
    } catch (error) {
      if (!(error instanceof MissingObject)) throw error
      return file.name
    }
  }
  return null
}

class MissingObject extends Error {}

interface Downloading {
  note: CheckpointNote
  file: TransferredFile
  isStopped: () => boolean
}

async function download(
  { objects }: LogStream,
  disk: CheckpointDirectory['disk'],
  target: number,
  { note, file, isStopped }: Downloading,
): Promise<void> {
  let [at, crc] = [0, 0]
  for (const name of objectsOf(note, file)) {
    if (isStopped()) throw new StoppedEarly('stopped')
    const piece = await objects.get(name)
    if (piece === null) throw new MissingObject(name)
    await writeAllLater(disk, target, piece, at)
    at += piece.length
    crc = crc32(piece, crc)
  }
  if (at !== file.bytes || crc !== file.crc) throw new MissingObject(file.name)
}
