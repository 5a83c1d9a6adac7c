// A node without an edge, for tests of replication: its log on a real disk, its forum and
// checkpoints.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { Test } from 'tap'
import type { LogEnd } from '../../../src/cluster/replication/compare.ts'
import { type Leading, lead } from '../../../src/cluster/replication/lead.ts'
import type { LogStream } from '../../../src/cluster/replication/log-stream.ts'
import { CheckpointSchedule } from '../../../src/engine/storage/checkpoints.ts'
import { loadNodeId } from '../../../src/engine/storage/node-files.ts'
import { apply } from '../../../src/forum/apply.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import { decode } from '../../../src/forum/records.ts'
import { admitOwn, commit, type Permit } from '../../../src/forum/write.ts'
import { realDisk } from '../../../wal/disk.ts'
import { openJournal } from '../../../wal/journal/journal.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import { newRole } from '../../engine/role/new-role.ts'
import { newWorld, restart } from '../../forum/doubles.ts'

const log = pino({ level: 'silent' })

/** Makes a directory that is removed after the test. */
export function newDirectory(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-lead-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return dir
}

export class LeadingNode {
  readonly forum: Forum = newWorld().forum
  readonly checkpoints: CheckpointSchedule
  readonly dir: string
  journal!: Journal
  leading: Leading | null = null
  role = newRole(this.forum)
  readonly notices: string[] = []

  constructor(dir: string) {
    this.dir = dir
    const nodeLimits = { textBytesMax: 1 << 30 }
    const config = { data: dir, checkpointMb: 0, scrubHours: 0, nodeLimits }
    this.checkpoints = new CheckpointSchedule(config, log)
  }

  async open(): Promise<this> {
    const { forum, checkpoints } = this
    const fresh = () => {
      restart(forum, newWorld().forum.state)
      return forum.state
    }
    this.journal = await openJournal({
      dir: this.dir,
      from: (storeId) => checkpoints.load(storeId, fresh, () => {}),
      onRecord: (position, row) => apply(forum.state, position, decode(row)),
    })
    forum.journal = this.journal
    checkpoints.begin(this.journal, forum.state)
    return this
  }

  async lead(stream: LogStream): Promise<boolean> {
    this.leading = await lead({
      stream,
      journal: this.journal,
      forum: this.forum,
      checkpoints: this.checkpoints,
      role: this.role,
      node: loadNodeId({ disk: realDisk, dir: this.dir }),
      isFirst: (await stream.last()) === null,
      history: { epoch: this.journal.storeId, epochBegin: null, secret: '' },
      takeoverMs: 60_000,
      onNotice: ({ event }) => this.notices.push(event),
      isStopped: () => false,
    })
    return this.leading !== null
  }

  /** The end of its log: the position and the term of its last record. */
  get end(): LogEnd {
    const { number: term, nonce } = this.forum.state.term
    return { position: this.journal.position, term, nonce, store: this.journal.storeId }
  }

  /** Writes a thread. Returns the number of its message. */
  async write(text: string): Promise<number> {
    const { forum } = this
    const { identities, messages } = forum.state
    const id = (n: number) => n.toString(16).padStart(32, '0')
    const own = () => {
      const permit = admitOwn(forum) as Permit
      return { permit, at: permit.at }
    }
    if (identities.count === 0) {
      const { permit, at } = own()
      commit(forum, permit, {
        type: 'identity.created',
        at,
        id: id(1),
        kind: 'persistent',
        displayName: 'Ana',
        tokenDigest: 'a'.repeat(64),
        expiresAt: 0,
        client: '',
        listed: false,
      })
    }
    const { permit, at } = own()
    const number = messages.count
    commit(forum, permit, {
      type: 'thread.posted',
      at,
      by: 0,
      id: id(100 + number),
      messageId: id(1000 + number),
      title: 'A thread',
      escapedContent: JSON.stringify(text),
      visibility: 'public',
      participants: [],
      key: `key-${number}-00000`,
      client: '',
      mentions: [],
    })
    await (this.leading?.journal ?? this.journal).sync()
    return number
  }

  async close(): Promise<void> {
    await this.role.stop()
    this.role = newRole(this.forum)
    await this.leading?.drain()
    await this.checkpoints.stop()
    await (this.leading?.journal ?? this.journal).close()
    await this.leading?.stop()
    this.leading = null
  }
}
