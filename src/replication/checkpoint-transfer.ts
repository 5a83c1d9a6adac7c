// Checkpoints as objects beside the stream: a leader uploads them, a node without a log downloads
// the newest one. The note `checkpoint` names its files; a file is cut into pieces.
//
//   note      checkpoint = { version, node, number, store, position, form, pieceBytes,
//                            files: [{ name, bytes, crc }, …] }
//   objects   <node>.<name>.<crc>.0, .1, …        0000000007.pages, .parity, .checkpoint
//
//   `node` is <id of the node>.<pieceBytes>. Earlier releases wrote the id alone. Either reads what
//   the other has uploaded, because both begin the names of objects with `node` as it is.
//
// X1. Page files never change once a manifest names them, so each is uploaded once. An object's
//     name has the crc of the file and the length of the pieces: no file is taken for another one
//     of the same name, and no piece for one from when the servers took shorter or longer ones.
// X2. The note is written when all objects are there, and only if no other node has written it
//     meanwhile. Objects that it does not name are removed afterwards: those of erased text, too.
// X3. A download has its manifest, and so is a checkpoint, when everything else of it is durable.
// X4. A note is refused that names anything but files of a checkpoint: a download writes no others.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import {
  type Manifest,
  manifestName,
  numberIn,
  pagesName,
  parityName,
} from '../../wal/checkpoint/manifest.ts'
import { readFullyLater, replaceFileLater, writeAllLater } from '../../wal/disk.ts'
import { codeOf, JournalError } from '../../wal/errors.ts'
import { type LogStream, StreamUnavailable } from './log-stream.ts'

const version = 1
const noteKey = 'checkpoint'
/** Long enough that a file has few pieces, and short enough that none takes long. */
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
  /** The beginning of the names of its objects: the node that uploaded it, and `pieceBytes`. */
  node: string
  number: number
  /** The id of the store that its log has. */
  store: string
  position: number
  form: number
  /** The length of a file's pieces, but for the last one. */
  pieceBytes: number
  files: TransferredFile[]
}

/**
 * The checkpoint beside the stream, or null. Rejects with a JournalError if a newer program has
 * written its note, or if no program has (X4).
 */
export async function uploadedCheckpoint(stream: LogStream): Promise<CheckpointNote | null> {
  const note = await stream.notes.read(noteKey)
  return note === null ? null : checkedNote(note.value)
}

/** Whether all objects are there that the note names. Rejects with `StreamUnavailable`. */
export async function isWhole({ objects }: LogStream, note: CheckpointNote): Promise<boolean> {
  const there = new Set(await objects.list())
  for (const file of note.files) {
    for (const name of objectsOf(note, file)) if (!there.has(name)) return false
  }
  return true
}

interface UploadOptions {
  /** The id of this node. */
  node: string
  manifest: Manifest
  /** Whether to give up, which is a rejection; called before each piece. */
  isStopped(): boolean
}

/**
 * Uploads a checkpoint of the directory, and makes it the one beside the stream. Returns false if
 * another node has done so meanwhile. Rejects with `StreamUnavailable`, and with what the disk
 * throws: ENOENT, if a newer checkpoint has replaced it.
 */
export async function uploadCheckpoint(
  stream: LogStream,
  place: CheckpointDirectory,
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
    const file = await uploadFile(stream, place, { node, name, there, pieceBytes, isStopped })
    if (file !== null) files.push(file)
  }
  const { number, storeId: store, position, form } = manifest
  const about = { version, node, number, store, position, form, pieceBytes }
  const value: CheckpointNote = { ...about, files }
  const written = await stream.notes.write(noteKey, value, note?.revision ?? 0)
  if (written === null) return false
  const named = new Set(files.flatMap((file) => [...objectsOf(value, file)]))
  for (const name of there) if (!named.has(name)) await stream.objects.remove(name)
  return true
}

/**
 * Downloads the checkpoint of a store beside the stream into a directory without one; null if there
 * is none. Rejects with `StreamUnavailable`, also while objects are missing that the note names.
 */
export async function fetchCheckpoint(
  stream: LogStream,
  place: CheckpointDirectory,
  store: string,
): Promise<{ position: number; storeId: string } | null> {
  for (let attempt = 1; ; attempt++) {
    const note = await uploadedCheckpoint(stream)
    if (note?.store !== store) return null
    const missing = await downloadAll(stream, place, note)
    if (missing === null) return { position: note.position, storeId: note.store }
    // A newer one may have replaced it meanwhile.
    if (attempt === attemptsMax) {
      throw new StreamUnavailable(`the checkpoint beside the stream lacks ${missing}`)
    }
  }
}

function checkedNote(value: unknown): CheckpointNote {
  const note = value as CheckpointNote
  if (note.version !== version) {
    const finding = `the note of the checkpoint beside the stream has version ${note.version}`
    throw new JournalError(76, finding, { advice: 'start that version' })
  }
  if (isDescription(note)) return note
  throw new JournalError(76, 'the note `checkpoint` beside the stream describes no checkpoint', {
    advice: 'find out who can write beside the stream, and remove this note',
  })
}

/** Whether it names files of a checkpoint alone (X4), in pieces of some length. */
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
  /** As in the note. */
  node: string
  name: string
  /** The names of the objects that are there. */
  there: ReadonlySet<string>
  pieceBytes: number
  isStopped(): boolean
}

/** Uploads missing pieces; null: there is no such file, as of a parity that is optional. */
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
        // A new buffer for each: the client may send one that seems lost once more.
        const piece = Buffer.alloc(Math.min(pieceBytes, bytes - at))
        yield piece.subarray(0, await readFullyLater(disk, file, piece, at))
      }
    }
    let crc = 0
    for await (const piece of pieces()) crc = crc32(piece, crc)
    let index = 0
    for await (const piece of pieces()) {
      if (isStopped()) throw new StreamUnavailable('the upload was stopped')
      const object = objectName(node, name, crc, index)
      if (!there.has(object)) await objects.put(object, piece)
      index += 1
    }
    return { name, bytes, crc }
  } finally {
    disk.close(file)
  }
}

/** Returns the name of a file that is not there whole, or null. */
async function downloadAll(
  stream: LogStream,
  place: CheckpointDirectory,
  note: CheckpointNote,
): Promise<string | null> {
  const { disk, dir } = place
  for (const file of note.files) {
    for (const name of disk.list(dir)) {
      if (name === file.name || name === `${file.name}.tmp`) disk.remove(path.join(dir, name))
    }
    try {
      const target = path.join(dir, file.name)
      await replaceFileLater(disk, target, (to) => download(stream, disk, to, note, file))
    } catch (error) {
      if (!(error instanceof MissingObject)) throw error
      return file.name
    }
  }
  return null
}

class MissingObject extends Error {}

async function download(
  { objects }: LogStream,
  disk: CheckpointDirectory['disk'],
  target: number,
  note: CheckpointNote,
  file: TransferredFile,
): Promise<void> {
  let [at, crc] = [0, 0]
  for (const name of objectsOf(note, file)) {
    const piece = await objects.get(name)
    if (piece === null) throw new MissingObject(name)
    await writeAllLater(disk, target, piece, at)
    at += piece.length
    crc = crc32(piece, crc)
  }
  if (at !== file.bytes || crc !== file.crc) throw new MissingObject(file.name)
}
