// Goal:   whatever part of the text or of the names is lost, the state is healed: entries that were
//         not lost read as before, and lost ones keep their number, position, author and time. H1
//         of state/salvage.ts.
// Method: a small state with one entry of each kind. Each window of its bytes is lost, one at a
//         time.

import assert from 'node:assert/strict'
import t from 'tap'
import { refuseBeyondRepair, repairEntries } from '../../src/state/salvage.ts'
import { State } from '../../src/state/state.ts'
import { renderEntry } from '../../src/state/threads.ts'
import { unitBytes } from '../../src/text/page-slots.ts'

const id = (n: number) => n.toString(16).padStart(32, '0')
const hash = 'ab'.repeat(32)

function aState(): State {
  const state = new State({ retentionMs: 0, seed: 1 })
  const { identities, threads, messages, proposals, reviews } = state
  for (const [n, kind] of (['guest', 'persistent'] as const).entries()) {
    identities.add(id(n + 1), id(n + 100), kind, `agent "${n}" é`)
    identities.actors.tell(n, { type: 'created', kind, at: n, expiresAt: 0 })
  }
  for (const [n, visibility] of (['public', 'private'] as const).entries()) {
    const [author, nameJson] = [identities.id(n), identities.nameJson(n)]
    const entry = { id: id(n + 200), author, nameJson, title: `Title ${n}`, visibility, at: 20 + n }
    threads.add(entry.id, renderEntry(entry), visibility, [])
    threads.actors.tell(n, { type: 'created', visibility, author: n, position: 3 + n })
  }
  for (let n = 0; n < 12; n++) {
    const signature = identities.signature(n % 2)
    const message = { id: id(n + 300), seq: 10 + n, author: n % 2, signature, thread: n % 2 }
    const said = { content: `text ${n} "é"`, mentionIds: [], at: 20 + n }
    threads.addMessage(n % 2, messages.add({ ...message, ...said }))
  }
  const text = { title: 'A title', description: 'Why', supersedes: null }
  const author_id = identities.id(0)
  const policy = { author_id, kind: 'policy' as const, ...text }
  proposals.add({ id: id(400), seq: 40, hash, at: 41, text: policy })
  const saved = { type: 'saved', kind: 'policy', candidate: -1, at: 41, position: 40 } as const
  proposals.actors.tell(0, saved)
  const review = { proposal_id: proposals.id(0), author_id, proposal_hash: hash }
  const content = { ...review, decision: 'approve' as const, text: 'Yes' }
  proposals.addReview(0, reviews.add({ id: id(500), seq: 42, at: 43, text: content }))
  proposals.actors.tell(0, { type: 'reviewed', by: 0, decision: 'approve', position: 42 })
  return state
}

interface Entry {
  address: number
  bytes: number
  /** The entry as JSON. */
  text: string
}

/** Returns all entries as a reader receives them. */
function entriesOf(state: State): Map<string, Entry> {
  const { identities, threads, messages, proposals, reviews } = state
  const entries = new Map<string, Entry>()
  const add = (name: string, address: number, bytes: number, around: [string, string]) => {
    const text = state.text.text(address, 0, bytes)
    entries.set(name, { address, bytes, text: around[0] + text + around[1] })
  }
  for (let n = 0; n < identities.count; n++) {
    entries.set(`name ${n}`, { ...identities.entry(n), text: `{${identities.signature(n)}}` })
  }
  for (let n = 0; n < threads.count; n++) {
    const { address, bytes } = threads.entry(n)
    add(`thread ${n}`, address, bytes, ['', '0}'])
  }
  const listed: ['', ''] = ['', '']
  for (let n = 0; n < messages.count; n++) {
    add(`message ${n}`, messages.address(n), messages.bytes(n), listed)
  }
  add('proposal', proposals.address(0), proposals.bytes(0), listed)
  add('review', reviews.address(0), reviews.bytes(0), listed)
  return entries
}

const parsed = ({ text }: Entry) => JSON.parse(text.replace(/^,/, ''))

function loseAndHeal(kind: 'text' | 'names', from: number, to: number): number {
  const state = aState()
  const before = entriesOf(state)
  state[kind].room(0).fill(0, from, to)
  const store = kind === 'text' ? 'arena.entries' : 'names.entries'
  const losses = repairEntries(state, [{ store, from, to }])
  const after = entriesOf(state)
  let healed = 0
  for (const [name, entry] of before) {
    const begin = entry.address * unitBytes
    const [was, is] = [parsed(entry), parsed(after.get(name)!)]
    const isOther = name.startsWith('name') !== (kind === 'names')
    if (isOther || begin + entry.bytes <= from || begin >= to) {
      assert.deepEqual(is, was, `${name} was not lost`)
      continue
    }
    healed++
    assert.deepEqual(Object.keys(is).sort(), Object.keys(was).sort(), name)
    for (const field of ['seq', 'created_at', 'kind', 'visibility', 'proposal_id']) {
      if (name !== 'review' || field !== 'kind') assert.deepEqual(is[field], was[field], name)
    }
    if (!/proposal|review/.test(name)) assert.equal(is.author_id, was.author_id, name)
    assert.equal(is.id, was.id, name)
    assert.equal(is.proposal_hash, was.proposal_hash, name)
    // The name is recovered from messages of the same author.
    if (/name|message/.test(name)) assert.equal(is.display_name, was.display_name, name)
  }
  const { messages, threads, names, proposals, reviews } = losses
  assert.deepEqual(names, [])
  const entries = messages.length + threads.length + proposals.length + reviews.length
  assert.ok(healed >= entries, 'each loss is reported once')
  return healed
}

t.test('H1: any 64 bytes of the text lost: the rest reads as before', async (t) => {
  const { bytes } = aState().text
  let healed = 0
  for (let from = 0; from < bytes; from += 40) healed += loseAndHeal('text', from, from + 64)
  t.ok(healed > 100, `${healed} entries healed, in ${bytes} bytes`)
})

t.test('H1: any 8 bytes of the names lost: the rest reads as before', async (t) => {
  const { bytes } = aState().names
  let healed = 0
  for (let from = 0; from < bytes; from += 8) healed += loseAndHeal('names', from, from + 8)
  t.ok(healed > 2, `${healed} names healed, in ${bytes} bytes`)
})

t.test('H1: everything is lost: all entries remain, without their texts', async (t) => {
  const state = aState()
  const lost = Object.entries({ 'arena.entries': state.text, 'names.entries': state.names })
  for (const [, text] of lost) text.room(0).fill(0, 0, text.bytes)
  const ranges = lost.map(([store, text]) => ({ store, from: 0, to: text.bytes }))
  const losses = repairEntries(state, ranges)
  t.match(losses, { messages: { length: 12 }, threads: { length: 2 }, names: { length: 2 } })
  for (const entry of entriesOf(state).values()) t.type(parsed(entry), 'object')
  t.equal(state.messages.id(3), id(303))
  t.match(state.threads.id(1), `thr_${id(201)}`)
})

t.test('H1: the entry of a removed message is lost: it is still removed', async (t) => {
  const state = aState()
  const { messages, moderation, identities } = state
  moderation.add({ kind: 'removed', subject: 3, position: 60, at: 60, reason: 'spam' })
  messages.erase(3, identities.signature(1))
  const from = messages.address(3) * unitBytes
  const bytes = { store: 'arena.entries', from, to: from + messages.bytes(3) }
  t.same(repairEntries(state, [bytes]).messages, [], 'no text was lost')
  t.ok(messages.isErased(3))
})

t.test('H3: a column is lost: refused, by its name', async (t) => {
  const lost = { store: 'messages.seqs', from: 0, to: 4096 }
  t.throws(() => refuseBeyondRepair([lost]), { message: /messages\.seqs/ })
  refuseBeyondRepair([{ ...lost, store: 'receipts.times' }])
})
