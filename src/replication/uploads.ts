// The checkpoints of a leader beside the stream, and the stream behind them.
//
//   checkpoint taken ─▶ uploaded ─▶ the stream is trimmed up to it, unless followers need more
//
// U1. A node can always start from the uploaded checkpoint and the stream: the checkpoint has all
//     records that the stream lacks at its beginning.
// U2. A follower whose note is less than an hour old finds its next message in the stream; except
//     when text was erased: then all messages that the checkpoint covers are removed, and a
//     follower that is behind it begins again from the checkpoint.
// U3. One at a time. After a failure it is tried again a minute later, or with the next checkpoint.
//
// `tend` has both written again when they are lost:
//
// U4. The leader's own note `holder` before the note `history`: a node that finds `history` knows
//     that no term is missing among the notes (holders.ts, H1).
// U5. A checkpoint that covers the trimmed beginning of the stream (U1).

import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import type { Manifest } from '../../wal/checkpoint/manifest.ts'
import { JournalError } from '../../wal/errors.ts'
import type { Journal, Notice } from '../../wal/journal/types.ts'
import { Backoff } from '../base/pauses.ts'
import type { State } from '../state/state.ts'
import { isWhole, uploadCheckpoint, uploadedCheckpoint } from './checkpoint-transfer.ts'
import { announce, type Holder } from './holders.ts'
import { firstWhere, type LogStream, type StreamMessage, StreamUnavailable } from './log-stream.ts'
import { type FollowerNote, followerKeys, type History, hasHistory, writeHistory } from './notes.ts'

/** The checkpoints of a node, as a leader uses them. */
export interface LeaderCheckpoints {
  readonly place: CheckpointDirectory
  /** The newest one, or null. */
  readonly latest: Manifest | null
  /** Takes one of the state as it is. */
  take(): Promise<void>
  /** Called when one has been taken. */
  onTaken: () => void
  /** From now on checkpoints wait for this journal. */
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
const againAfterMs = 60_000

export class Uploads {
  readonly #options: Uploading
  /** When each follower was heard of last, and the revision of its note then. */
  readonly #heard = new Map<string, { revision: number; atMs: number }>()
  #uploading: Promise<void> | null = null
  #isStopped = false
  #position = 0
  #failure = ''
  #again: NodeJS.Timeout | undefined

  constructor(options: Uploading) {
    this.#options = options
  }

  /** Warnings for the operator, one sentence each. */
  get warnings(): string[] {
    return this.#failure === '' ? [] : [`replication: no checkpoint is uploaded: ${this.#failure}`]
  }

  /** The position of the newest uploaded checkpoint; 0: none was. */
  get position(): number {
    return this.#position
  }

  /** Uploads a checkpoint of the whole log, before there is a stream. Waits until it is there. */
  async first(): Promise<void> {
    const { checkpoints, forum, isStopped } = this.#options
    if (checkpoints.latest?.position !== forum.state.position) await checkpoints.take()
    if (checkpoints.latest?.position !== forum.state.position) {
      throw new JournalError(74, 'the checkpoint that a replicated log begins with has failed')
    }
    const backoff = new Backoff()
    while (!isStopped()) {
      await this.#uploadOne()
      if (this.#failure === '') return
      await backoff.pause()
    }
  }

  /** Uploads checkpoints from now on, as they are taken. */
  begin(): void {
    this.#options.checkpoints.onTaken = () => this.#upload()
    this.#upload()
  }

  /**
   * Takes and uploads a checkpoint if none covers the trimmed beginning of the stream (U1):
   * objects or notes were removed, or the stream was purged.
   */
  async mend(store: string): Promise<void> {
    try {
      await this.#mend(store)
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) this.#failure = (error as Error).message
    }
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
    this.#upload()
  }

  /** Begins no upload any more, and gives one up that is under way; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#again)
    this.#options.checkpoints.onTaken = () => {}
    await this.#uploading
  }

  #upload(): void {
    if (this.#isStopped || this.#uploading !== null) return
    clearTimeout(this.#again)
    this.#uploading = this.#uploadNewest().finally(() => {
      this.#uploading = null
      if (this.#failure === '' || this.#isStopped) return
      this.#again = setTimeout(() => this.#upload(), againAfterMs).unref()
    })
  }

  async #uploadNewest(): Promise<void> {
    const { checkpoints } = this.#options
    while (!this.#isStopped && (checkpoints.latest?.position ?? 0) > this.#position) {
      await this.#uploadOne()
      if (this.#failure !== '') return
    }
  }

  async #uploadOne(): Promise<void> {
    const { stream, checkpoints, node, onNotice } = this.#options
    const manifest = checkpoints.latest!
    const { position, number } = manifest
    try {
      const isStopped = () => this.#isStopped
      if (await uploadCheckpoint(stream, checkpoints.place, { node, manifest, isStopped })) {
        this.#position = position
        onNotice({ event: 'checkpoint_uploaded', number, position })
        await this.#trim(position)
      }
      this.#failure = ''
    } catch (error) {
      if (this.#isStopped) return
      this.#failure = (error as Error).message
      const about = { number, position, why: this.#failure }
      onNotice({ event: 'checkpoint_upload_failed', level: 'warn', ...about })
    }
  }

  /** Removes the messages that no start and no follower needs (U1, U2). */
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

  /** The positions of the followers that were heard of lately. */
  async #followers(): Promise<number[]> {
    const { notes } = this.#options.stream
    const positions: number[] = []
    for (const key of await notes.keys(followerKeys)) {
      const note = await notes.read(key)
      if (note === null) continue
      const nowMs = performance.now()
      const heard = this.#heard.get(key)
      const isNew = heard === undefined || heard.revision !== note.revision
      if (isNew) this.#heard.set(key, { revision: note.revision, atMs: nowMs })
      else if (nowMs - heard.atMs > forgottenAfterMs) {
        this.#heard.delete(key)
        await notes.remove(key)
        continue
      }
      positions.push((note.value as FollowerNote).position)
    }
    return positions
  }
}

const everyMs = 5_000
/** Every so often the checkpoint is looked at, too. */
const checkpointEvery = 6

interface Tended {
  stream: LogStream
  /** The id of this node. */
  node: string
  /** The content of `history`, without the store. */
  history: Pick<History, 'epoch' | 'epochBegin' | 'secret'>
  uploads: Pick<Uploads, 'mend'>
}

/** Looks after it until the returned function is called, which resolves when nothing is written. */
export function tend(
  { stream, node, history, uploads }: Tended,
  own: Pick<Holder, 'store' | 'position' | 'term'>,
): () => Promise<void> {
  let tending = Promise.resolve()
  let runs = 0
  const run = async () => {
    try {
      if (!(await hasHistory(stream))) {
        await announce(stream, node, own)
        await writeHistory(stream, { ...history, store: own.store })
      }
      if (runs++ % checkpointEvery === 0) await uploads.mend(own.store)
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error
    }
  }
  const again = () => {
    tending = tending.then(run)
  }
  again()
  const timer = setInterval(again, everyMs).unref()
  return () => {
    clearInterval(timer)
    return tending
  }
}
