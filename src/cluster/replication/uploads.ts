// Keeps a leader's checkpoints beside the stream, and trims the stream behind them.
//
//   checkpoint taken ─▶ uploaded ─▶ the stream is trimmed up to it, unless followers need more
//
// U1. A node can always start from the uploaded checkpoint and the stream: the checkpoint has all
//     records that were trimmed from the stream.
// U2. A follower whose note is less than an hour old finds its next message in the stream. An
//     exception is erased text: once the checkpoint covers an erasure, all messages up to it are
//     removed, and a follower that is behind it begins again from the checkpoint.
// U3. One upload or trim runs at a time. A failed one is retried within half a minute (`tend`), or
//     with the next checkpoint.
//
// `tend` restores what is lost beside the stream:
//
// U4. The leader's own note `holder`, before the note `history`: a node that finds `history` knows
//     that the notes name every term (holders.ts, H1).
// U5. A checkpoint that covers the trimmed beginning of the stream (U1).

import type { CheckpointDirectory } from '../../../wal/checkpoint/checkpoint-files.ts'
import type { Manifest } from '../../../wal/checkpoint/manifest.ts'
import { JournalError, messageOf } from '../../../wal/errors.ts'
import type { Journal, Notice } from '../../../wal/journal/types.ts'
import { Backoff } from '../../base/pauses.ts'
import type { State } from '../../forum/state.ts'
import { isWhole, uploadCheckpoint, uploadedCheckpoint } from './checkpoint-transfer.ts'
import { announce, forgetHolders, type Holder } from './holders.ts'
import {
  firstWhere,
  type LogStream,
  type Note,
  type StreamMessage,
  StreamUnavailable,
} from './log-stream.ts'
import {
  type FollowerNote,
  followerKey,
  followerKeys,
  type History,
  hasHistory,
  writeHistory,
} from './notes.ts'

/** The checkpoints of a node, as its leader part uses them. */
export interface LeaderCheckpoints {
  readonly directory: CheckpointDirectory
  /** The newest checkpoint, or null. */
  readonly latest: Manifest | null
  /** Takes a checkpoint of the current state. */
  take(): Promise<void>
  /** Called when a checkpoint has been taken. */
  onTaken: () => void
  /** Makes checkpoints wait for this journal from now on. */
  useJournal(journal: Journal): void
}

interface Uploading {
  stream: LogStream
  checkpoints: LeaderCheckpoints
  forum: { readonly state: State }
  node: string
  onNotice(notice: Notice): void
  isStopped(): boolean
}

const forgottenAfterMs = 3_600_000

/** The operations that may fail, and the beginnings of their warnings. */
const warningOf = {
  upload: 'no checkpoint is uploaded',
  trim: 'the stream is not trimmed',
  mend: 'the checkpoint beside the stream is not checked',
} as const

export class Uploads {
  readonly #options: Uploading
  /** When each note of another node was last seen changed, and its revision then. */
  readonly #heard = new Map<string, { revision: number; atMs: number }>()
  #uploading: Promise<void> | null = null
  #isStopped = false
  #position = 0
  /** The position of the checkpoint behind which the stream was last trimmed; 0: none yet. */
  #trimmed = 0
  /** The reasons of failures that no success has followed yet. */
  readonly #failures = new Map<keyof typeof warningOf, string>()

  constructor(options: Uploading) {
    this.#options = options
  }

  get warnings(): string[] {
    return Array.from(this.#failures, ([work, why]) => `replication: ${warningOf[work]}: ${why}`)
  }

  /** The position of the newest uploaded checkpoint; 0: none. */
  get position(): number {
    return this.#position
  }

  /**
   * Uploads a checkpoint of the whole log before there is a stream; resolves when it is uploaded,
   * or when the node stops.
   */
  async first(): Promise<void> {
    const { checkpoints, forum, isStopped } = this.#options
    if (checkpoints.latest?.position !== forum.state.position) await checkpoints.take()
    if (checkpoints.latest?.position !== forum.state.position) {
      throw new JournalError(74, 'the checkpoint that a replicated log begins with has failed')
    }
    const backoff = new Backoff()
    while (!isStopped()) {
      if (await this.#uploadOne(isStopped)) return
      await backoff.pause()
    }
  }

  /** Uploads checkpoints as they are taken, from now on. */
  begin(): void {
    this.#options.checkpoints.onTaken = () => this.#resume()
    this.#resume()
  }

  /**
   * Takes and uploads a checkpoint if none covers the trimmed beginning of the stream (U1), because
   * objects or notes were removed, or the stream was purged. Retries what has failed (U3).
   */
  async mend(store: string): Promise<void> {
    try {
      await this.#mend(store)
      this.#failures.delete('mend')
      await this.#followers()
      await forgetHolders(this.#options.stream, this.#options.node, this.#isSilent)
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) this.#failures.set('mend', messageOf(error))
    }
    this.#resume()
  }

  async #mend(store: string): Promise<void> {
    const { stream, checkpoints } = this.#options
    const note = await uploadedCheckpoint(stream)
    const isThere = note?.store === store && (await isWhole(stream, note))
    const covered = isThere ? note.position : 0
    const oldest = await stream.get(await stream.firstSequence())
    if (oldest === null || oldest.first <= covered + 1 || this.#isStopped) return
    this.#position = covered
    if ((checkpoints.latest?.position ?? 0) + 1 < oldest.first) await checkpoints.take()
  }

  /** Begins no further upload, and aborts one that is running; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#options.checkpoints.onTaken = () => {}
    await this.#uploading
  }

  /** Starts to upload and trim, for as long as there is work and nothing fails. */
  #resume(): void {
    if (this.#isStopped) return
    this.#uploading ??= this.#catchUp().finally(() => {
      this.#uploading = null
    })
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const hasUploaded = !this.#hasNewer || (await this.#uploadOne())
      if (this.#isStopped) return
      const hasTrimmed = this.#trimmed >= this.#position || (await this.#trimBehind(this.#position))
      if (this.#isStopped || !this.#hasNewer || !hasUploaded || !hasTrimmed) return
    }
  }

  /** Whether there is a checkpoint newer than the uploaded one. */
  get #hasNewer(): boolean {
    return (this.#options.checkpoints.latest?.position ?? 0) > this.#position
  }

  /** Uploads the newest checkpoint; returns whether it succeeded. */
  async #uploadOne(isStopped = () => this.#isStopped): Promise<boolean> {
    const { stream, checkpoints, node, onNotice } = this.#options
    const manifest = checkpoints.latest!
    const { position, number } = manifest
    try {
      if (await uploadCheckpoint(stream, checkpoints.directory, { node, manifest, isStopped })) {
        this.#position = position
        onNotice({ event: 'checkpoint_uploaded', number, position })
      }
      this.#failures.delete('upload')
      return true
    } catch (error) {
      if (isStopped()) return false
      const why = messageOf(error)
      this.#failures.set('upload', why)
      onNotice({ event: 'checkpoint_upload_failed', level: 'warn', number, position, why })
      return false
    }
  }

  /** Trims the stream behind the uploaded checkpoint; returns whether it succeeded. */
  async #trimBehind(position: number): Promise<boolean> {
    try {
      await this.#trim(position)
      this.#trimmed = position
      this.#failures.delete('trim')
      return true
    } catch (error) {
      if (this.#isStopped) return false
      const why = messageOf(error)
      this.#failures.set('trim', why)
      this.#options.onNotice({ event: 'stream_trim_failed', level: 'warn', position, why })
      return false
    }
  }

  /** Removes the messages that neither a start nor a follower needs (U1, U2). */
  async #trim(uploaded: number): Promise<void> {
    const { stream, forum, onNotice } = this.#options
    const needed = Math.min(uploaded, ...(await this.#followers()))
    const { erasedPosition } = forum.state
    const erased = erasedPosition <= uploaded ? erasedPosition : 0
    const position = Math.max(needed, erased)
    const newest = await stream.last()
    if (newest === null) return
    const isKept = ({ last }: StreamMessage) => last > position
    const oldest = isKept(newest) ? await firstWhere(stream, newest, isKept) : newest
    const { sequence: below } = oldest
    if (below <= (await stream.firstSequence())) return
    await stream.trim(below)
    onNotice({ event: 'stream_trimmed', position, below })
  }

  /**
   * Returns the positions of the followers whose notes have changed within the last hour. This node
   * may have such a note from before it led.
   */
  async #followers(): Promise<number[]> {
    const { stream, node } = this.#options
    const { notes } = stream
    const positions: number[] = []
    for (const key of await notes.keys(followerKeys)) {
      const note = key === followerKey(node) ? null : await notes.read(key)
      if (note === null) continue
      if (this.#isSilent(key, note)) await notes.remove(key, note.revision)
      else positions.push((note.value as FollowerNote).position)
    }
    return positions
  }

  /** Whether a note has not changed for an hour, as far as this leader has seen. */
  readonly #isSilent = (key: string, { revision }: Note): boolean => {
    const nowMs = performance.now()
    const heard = this.#heard.get(key)
    if (heard?.revision === revision) return nowMs - heard.atMs > forgottenAfterMs
    this.#heard.set(key, { revision, atMs: nowMs })
    return false
  }
}

const everyMs = 5_000
/** The checkpoint is checked once in this many runs. */
const checkpointEvery = 6

interface Tended {
  stream: LogStream
  node: string
  /** The content of the note `history`, without the store. */
  history: Pick<History, 'epoch' | 'epochBegin' | 'secret'>
  uploads: Pick<Uploads, 'mend'>
}

/**
 * Maintains the notes and the checkpoint beside the stream, until the returned function is called.
 * The promise of that function resolves when no write is in progress.
 */
export function tend(
  { stream, node, history, uploads }: Tended,
  own: Pick<Holder, 'store' | 'position' | 'term'>,
): () => Promise<void> {
  let tending: Promise<void> | null = null
  let runs = 0
  const run = async () => {
    try {
      if (!(await hasHistory(stream))) {
        await announce(stream, node, own)
        await writeHistory(stream, { ...history, store: own.store })
      }
      if (runs++ % checkpointEvery === 0) await uploads.mend(own.store)
    } catch {
      // The next run tries again, also after a note that cannot be read (lead.ts, L2).
    }
  }
  // One run at a time: taking a checkpoint or waiting for the servers may exceed the period.
  const runUnlessBusy = () => {
    tending ??= run().finally(() => {
      tending = null
    })
  }
  runUnlessBusy()
  const timer = setInterval(runUnlessBusy, everyMs).unref()
  return async () => {
    clearInterval(timer)
    await tending
  }
}
