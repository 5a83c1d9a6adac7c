// Loads checkpoints of form 2, and of form 1, whose parts form-1.ts renames. In form 2, names,
// message ids and hashes of proposals were only in the text.
//
//   form 2                                     form 3
//   (signatures in the text), nameStarts      ─▶  names.…, to which identities.signatures point
//   (the text of a message)                   ─▶  messages.ids
//   (the text of a proposal)                  ─▶  proposals.hashes
//   (the text)                                ─▶  arena.crcs
//   addresses that count scratch space        ─▶  addresses that do not, and their upper bits
//
// The whole text is read into memory once. Its pages stay where they are on disk, so most of them
// are freed after the load. The next checkpoint saves the rest in the new form.

import type { PagedStore, Stores } from '../../../wal/checkpoint/paged-store.ts'
import { inSlicesOf } from '../../base/pauses.ts'
import { Uint16Column, Uint32Column } from '../../columns/column.ts'
import { unitsPerPage } from '../../text/page-slots.ts'
import { sumBlocks } from '../../text/text.ts'
import { fillIndexes, type OnIndexFilled, restore } from '../saved.ts'
import type { State } from '../state.ts'
import { rowsOfForm3 } from './form-3.ts'
import { fromForm5, storesOfForm5 } from './form-5.ts'

/** Stores that form 2 did not have. */
const added = new Set([
  'arena.crcs',
  'names.entries',
  'names.crcs',
  'threads.entries.high',
  'messages.addresses.high',
  'messages.ids',
  'proposals.addresses.high',
  'proposals.hashes',
  'reviews.addresses.high',
])
const sliceMs = 4
/** Units of one chunk. Addresses counted whole chunks, each of which began with a scratch page. */
const unitsPerChunk = 64 * unitsPerPage

/** Returns the target for loading a checkpoint of form 2. */
export function targetOfForm2(state: State, onIndexFilled?: OnIndexFilled) {
  const signatures = {
    starts: new Uint32Column(),
    bytes: new Uint16Column(),
    nameStarts: new Uint16Column(),
  }
  state.text.readsAll = true
  return {
    stores: storesOfForm2(storesOfForm5(state), signatures),
    rows: rowsOfForm3(state),
    async restore(facts: unknown) {
      restore(state, fromForm5(state, facts as Record<string, unknown>))
      const pause = inSlicesOf(sliceMs)
      for (const _ of conversion(state, signatures)) {
        const pausing = pause()
        if (pausing !== null) await pausing
      }
      state.text.keepNewest()
      await fillIndexes(state, onIndexFilled)
    },
  }
}

interface Signatures {
  starts: Uint32Column
  bytes: Uint16Column
  nameStarts: Uint16Column
}

function storesOfForm2(stores: Stores, signatures: Signatures): Stores {
  const of2 = new Map<string, PagedStore>(stores)
  for (const name of added) of2.delete(name)
  of2.set('identities.signatures', signatures.starts)
  of2.set('identities.signatureBytes', signatures.bytes)
  return of2.set('identities.nameStarts', signatures.nameStarts)
}

function addressOf(address: number): number {
  return address - (Math.floor(address / unitsPerChunk) + 1) * unitsPerPage
}

/** Converts the state; yields now and then. */
function* conversion(state: State, signatures: Signatures): Generator<void> {
  const { threads, messages, proposals, reviews, text } = state
  for (const table of [threads, messages, proposals, reviews]) {
    yield* table.convertAddresses(addressOf)
  }
  yield* messages.fillIds()
  proposals.fillHashes()
  convertNames(state, signatures)
  yield* sumBlocks(text)
}

function convertNames({ identities, text }: State, { starts, bytes }: Signatures): void {
  for (let n = 0; n < starts.length; n++) {
    identities.addSignature(text.text(addressOf(starts.get(n)), 0, bytes.get(n)))
  }
}
