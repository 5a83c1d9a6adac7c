// Random programs of commands. Numbers stand for identities, threads and messages; a run maps them
// to those that exist.

import fc from 'fast-check'
import type { Health } from '../../wal/journal/journal.ts'
import { codePoint } from '../code-point.ts'
import { dayMs, hourMs } from './doubles.ts'

/** The part of an earlier publication that is changed when its key is used again. */
export type Change =
  | 'nothing'
  | 'content'
  | 'title'
  | 'visibility'
  | 'members'
  | 'mentions'
  | 'seen'
  | 'type'
  | 'fence'
  | 'tags'
  | 'ttl'
  | 'thread'
  | 'operation'
  | 'caller'

/** `by`, `thread`, `named`, `mentioned` and `pick` are taken modulo the number of what exists. */
export type Command =
  | { does: 'identity'; kind: 'guest' | 'persistent'; name: string }
  | {
      does: 'thread'
      by: number
      title: string
      content: string
      visibility: 'public' | 'private'
      named: number[]
      mentioned: number[]
      type: string | undefined
      tags: readonly string[]
      ttlSeconds?: number | undefined
    }
  | { does: 'tag'; by: number; thread: number; tags: readonly string[] }
  | {
      does: 'reply'
      by: number
      thread: number
      content: string
      mentioned: number[]
      type: string | undefined
      /** How far back from the end of the log the seqs are that the reply names, if any. */
      expect?: number | undefined
      seen?: number | undefined
      /** What the fence that it names has more than that of the thread's last claim, if any. */
      fence?: number | undefined
    }
  | { does: 'claim'; by: number; thread: number; seconds: number; fence?: number | undefined }
  | { does: 'release'; by: number; thread: number }
  | { does: 'subscribe' | 'unsubscribe'; by: number; thread: number }
  | { does: 'subscribeTag' | 'unsubscribeTag'; by: number; tag: string }
  | { does: 'mark'; by: number; back: number }
  | { does: 'again'; pick: number; change: Change }
  | { does: 'erase'; thread: number; pick: number }
  | { does: 'lock' | 'unlock'; thread: number }
  | { does: 'block' | 'unblock'; by: number }
  | { does: 'clock'; ms: number }
  | { does: 'health'; health: Health }
  | { does: 'expire' | 'restart' }

/** Identities that do not exist: a well-formed id and a malformed one. */
export const absentId = 20
export const malformedId = 21

const text = fc.oneof(
  fc.constantFrom('hello', 'hello!', '"', '\\', '{"a":1}', 'né€🦊', '\u0000\n'),
  fc.string({ unit: codePoint, minLength: 1, maxLength: 40, size: 'max' }),
)
const by = fc.nat(6)
const thread = fc.nat(9)
const named = fc.uniqueArray(
  fc.oneof({ weight: 20, arbitrary: fc.nat(6) }, fc.constantFrom(absentId, malformedId)),
  { maxLength: 4, size: 'max' },
)
const nobody = fc.constant<number[]>([])
const mentioned = fc.oneof({ weight: 2, arbitrary: nobody }, { weight: 1, arbitrary: named })
const type = fc.constantFrom(undefined, undefined, 'question', 'bug-report')
const tag = fc.constantFrom('bug', 'infra', 'a:b')
const tags = fc.uniqueArray(tag)
const visibility = fc.constantFrom<('public' | 'private')[]>('public', 'public', 'private')
const kind = fc.constantFrom<('guest' | 'persistent')[]>('guest', 'guest', 'persistent')
const change = fc.constantFrom<Change[]>(
  'nothing',
  'nothing',
  'content',
  'title',
  'visibility',
  'members',
  'mentions',
  'seen',
  'type',
  'fence',
  'tags',
  'ttl',
  'thread',
  'operation',
  'caller',
)
const ttlSeconds = fc.constantFrom(undefined, undefined, 60, 86_400)
const ms = fc.constantFrom(0, 1, 1000, -hourMs, -3 * dayMs, dayMs, 8 * dayMs)
const back = fc.option(fc.nat(30), { freq: 1, nil: undefined })
const fence = fc.constantFrom(undefined, undefined, undefined, 0, 0, -1, 1)
const seconds = fc.constantFrom(1, 2, 60, 86_400)
const health = fc.constantFrom<Health[]>('ok', 'ok', 'storage_full', 'overloaded')
const does = <D extends Command['does']>(name: D) => fc.constant(name)

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 15, arbitrary: fc.record({ does: does('identity'), kind, name: text }) },
  {
    weight: 18,
    arbitrary: fc.record({
      does: does('thread'),
      by,
      title: text,
      content: text,
      visibility,
      named,
      mentioned,
      type,
      tags,
      ttlSeconds,
    }),
  },
  {
    weight: 36,
    arbitrary: fc.record({
      does: does('reply'),
      by,
      thread,
      content: text,
      mentioned,
      type,
      expect: back,
      seen: back,
      fence,
    }),
  },
  { weight: 12, arbitrary: fc.record({ does: does('claim'), by, thread, seconds, fence }) },
  { weight: 6, arbitrary: fc.record({ does: does('release'), by, thread }) },
  { weight: 12, arbitrary: fc.record({ does: does('tag'), by, thread, tags }) },
  { weight: 9, arbitrary: fc.record({ does: does('subscribe'), by, thread }) },
  { weight: 9, arbitrary: fc.record({ does: does('unsubscribe'), by, thread }) },
  { weight: 9, arbitrary: fc.record({ does: does('subscribeTag'), by, tag }) },
  { weight: 4, arbitrary: fc.record({ does: does('unsubscribeTag'), by, tag }) },
  {
    weight: 9,
    arbitrary: fc.record({ does: does('mark'), by, back: fc.integer({ min: -2, max: 40 }) }),
  },
  { weight: 18, arbitrary: fc.record({ does: does('again'), pick: fc.nat(), change }) },
  { weight: 4, arbitrary: fc.record({ does: does('erase'), thread, pick: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ does: does('lock'), thread }) },
  { weight: 4, arbitrary: fc.record({ does: does('unlock'), thread }) },
  { weight: 3, arbitrary: fc.record({ does: does('block'), by }) },
  { weight: 5, arbitrary: fc.record({ does: does('unblock'), by }) },
  { weight: 12, arbitrary: fc.record({ does: does('clock'), ms }) },
  { weight: 6, arbitrary: fc.record({ does: does('health'), health }) },
  { weight: 6, arbitrary: fc.record({ does: does('expire') }) },
  { weight: 1, arbitrary: fc.record({ does: does('restart') }) },
)

const begin: Command[] = [
  { does: 'identity', kind: 'persistent', name: 'Ana' },
  { does: 'identity', kind: 'guest', name: 'Bob' },
]

/** Programs that begin by creating two identities. */
export const anyProgram: fc.Arbitrary<Command[]> = fc
  .array(command, { minLength: 5, maxLength: 150, size: 'max' })
  .map((commands) => [...begin, ...commands])

const said = { by: 0, content: 'Content', mentioned: [], type: undefined }
const post = { ...said, title: 'Title', visibility: 'public', tags: ['bug'] } as const

/** A program in which every answer and refusal occurs. */
export const everyOutcome: Command[] = [
  ...begin,
  { does: 'thread', ...post, named: [] },
  { does: 'thread', ...post, named: [absentId] },
  { does: 'thread', ...post, named: [], mentioned: [absentId] },
  { does: 'reply', ...said, thread: 0, mentioned: [1] },
  { does: 'again', pick: 0, change: 'nothing' },
  { does: 'again', pick: 0, change: 'content' },
  { does: 'reply', ...said, thread: 0, content: 'Reply' },
  { does: 'again', pick: 1, change: 'nothing' },
  { does: 'reply', ...said, thread: 0, expect: 0, seen: 9 },
  { does: 'reply', ...said, thread: 0, expect: 1 },
  { does: 'claim', by: 0, thread: 0, seconds: 2 },
  { does: 'again', pick: 4, change: 'nothing' },
  { does: 'again', pick: 4, change: 'fence' },
  { does: 'claim', by: 1, thread: 0, seconds: 2 },
  { does: 'release', by: 1, thread: 0 },
  { does: 'reply', ...said, thread: 0, fence: 0 },
  { does: 'reply', ...said, by: 1, thread: 0, fence: 0 },
  { does: 'clock', ms: 3000 },
  { does: 'reply', ...said, thread: 0, fence: 0 },
  { does: 'claim', by: 1, thread: 0, seconds: 1 },
  { does: 'release', by: 1, thread: 0 },
  { does: 'release', by: 1, thread: 0 },
  { does: 'claim', by: 1, thread: 0, seconds: 1 },
  { does: 'clock', ms: 1000 },
  { does: 'expire' },
  { does: 'erase', thread: 0, pick: 1 },
  { does: 'erase', thread: 0, pick: 1 },
  { does: 'again', pick: 1, change: 'content' },
  { does: 'tag', by: 0, thread: 0, tags: [] },
  { does: 'subscribeTag', by: 0, tag: 'bug' },
  { does: 'unsubscribeTag', by: 0, tag: 'bug' },
  { does: 'tag', by: 1, thread: 0, tags: ['infra'] },
  { does: 'lock', thread: 0 },
  { does: 'lock', thread: 0 },
  { does: 'reply', ...said, thread: 0, content: 'Locked' },
  { does: 'again', pick: 0, change: 'nothing' },
  { does: 'unlock', thread: 0 },
  { does: 'unlock', thread: 0 },
  { does: 'block', by: 0 },
  { does: 'block', by: 0 },
  { does: 'reply', ...said, thread: 0, content: 'Blocked' },
  { does: 'unblock', by: 0 },
  { does: 'unblock', by: 0 },
  { does: 'subscribe', by: 1, thread: 0 },
  { does: 'mark', by: 1, back: 3 },
  { does: 'mark', by: 1, back: 9 },
  { does: 'mark', by: 1, back: -1 },
  { does: 'unsubscribe', by: 1, thread: 0 },
  { does: 'health', health: 'storage_full' },
  { does: 'reply', ...said, thread: 0, content: 'No space' },
  { does: 'health', health: 'overloaded' },
  { does: 'reply', ...said, thread: 0, content: 'Too many' },
  { does: 'health', health: 'ok' },
  { does: 'clock', ms: 8 * dayMs },
  { does: 'subscribe', by: 1, thread: 0 },
  { does: 'expire' },
  { does: 'thread', ...post, named: [], ttlSeconds: 60 },
  { does: 'reply', ...said, thread: 1, mentioned: [1] },
  { does: 'clock', ms: hourMs },
  { does: 'expire' },
  { does: 'reply', ...said, thread: 1, content: 'Late' },
  { does: 'again', pick: 5, change: 'title' },
  { does: 'again', pick: 5, change: 'ttl' },
]
