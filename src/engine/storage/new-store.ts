// Makes a data directory whose log begins after a given position, with a checkpoint that holds
// everything before: what `agent-forum import` leaves.
//
// N1. Both checkpoints that are kept have the whole state, so that a start may use either.
// N2. Text that a checkpoint has saved leaves the memory. So the size of the text does not matter.
//
// Why a checkpoint, and no log: a position is the number of a record in the log, and an archive has
// no line for many of them. A log with the positions of an archive would need records that say
// nothing, as many as are missing, and replaying it would take as long as the forum is old.

import { Checkpoints, keptCount } from '../../../wal/checkpoint/checkpoints.ts'
import { realDisk } from '../../../wal/disk.ts'
import { beginLog } from '../../../wal/tools/begin-log.ts'
import { State } from '../../forum/state.ts'
import { checkpointSource, stateVersion } from '../../kernel/saved.ts'
import { randomSeed, systemStamps } from '../../kernel/stamp.ts'
import { beginEpochAt, loadSecret } from './node-files.ts'
import { textBytesMax } from './stored-state.ts'

const skip = async () => {}

export class NewStore {
  /** The state, to be filled by the caller. */
  readonly state = new State({ retentionMs: 0, seed: randomSeed(), textBytesMax })
  readonly #directory: { disk: typeof realDisk; dir: string }
  readonly #storeId = systemStamps().id()
  readonly #checkpoints: Checkpoints

  /** `dir` is an empty directory. */
  constructor(dir: string) {
    this.#directory = { disk: realDisk, dir }
    this.#checkpoints = new Checkpoints({
      ...this.#directory,
      stateVersion,
      onNotice: () => {},
    })
  }

  /** Whether there is so much text that `save` is to be called before more is added (N2). */
  get isDue(): boolean {
    return this.state.text.unsavedBytes > textBytesMax / 2
  }

  /** Saves the state as it is. Rejects with JournalError 74. */
  async save(): Promise<void> {
    const { position } = this.state
    const journal = { storeId: this.#storeId, position, sync: skip, dropBefore: skip }
    await this.#checkpoints.take({ journal, ...checkpointSource(this.state), pause: () => null })
  }

  /** Saves the whole state, and begins its log and its epoch. Rejects with JournalError 74. */
  async finish(): Promise<void> {
    for (let n = 0; n < keptCount; n++) await this.save()
    const { position } = this.state
    beginLog(this.#directory, { storeId: this.#storeId, position })
    beginEpochAt(this.#directory, position)
    loadSecret(this.#directory, undefined)
  }
}
