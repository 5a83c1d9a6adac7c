// Proposals: saved once, then listed and read by anyone, never executed. Reviews: anyone's opinion
// on one exact version of a proposal, advisory only. docs/interface.md, "Proposals" and "Reviews".

import { hash } from 'node:crypto'
import { canonicalize } from 'json-canonicalize'
import { partition } from '../../base/partition.ts'
import { timeOf } from '../../kernel/clock.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { rejectNamed } from '../identities/commands.ts'
import { admit, commit, replayOf } from '../write.ts'
import type { Decision } from './machine.ts'
import type { KindFields, ProposalFile, ProposalText } from './table.ts'

/** The proposal that a caller submits: the fields of its kind and no others. */
export type ProposalRequest = KindFields & {
  title: string
  description: string
  /** `gov_…` */
  supersedes?: string
}

interface NewProposal {
  caller: number
  /** The caller's address, or '' if no limit needs it. */
  address: string
  request: ProposalRequest
  key: string
}

/** The result of saving: the number of the proposal. */
export interface SavedProposal extends Positioned {
  proposal: number
  replayed: boolean
}

export function saveProposal(forum: Forum, command: NewProposal): SavedProposal | Rejection {
  const { state, stamps } = forum
  const { caller, request, key } = command
  const refused = rejectTexts(request)
  if (refused !== null) return refused
  const text = textOf(state.identities.id(caller), request)
  const hash = hashProposal(text)

  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) {
    const proposal = state.receipts.subject(receipt)
    const isProposal = state.receipts.operation(receipt) === 'proposal'
    // The hash covers the whole request, so equal hashes mean the same request.
    const isSame = isProposal && state.proposals.hash(proposal) === hash
    return replayOf(state, receipt, isSame, { proposal })
  }

  const rejection = rejectReferences(forum, request)
  if (rejection !== null) return rejection
  const permit = admit(forum, 'governance', command)
  if (isRejection(permit)) return permit
  const { at, client } = permit
  const saved = { by: caller, id: stamps.id(), hash, text, key, client }
  const position = commit(forum, permit, { type: 'proposal.saved', at, ...saved })
  return { position, proposal: state.proposals.count - 1, replayed: false }
}

/** Returns the request as it is saved and hashed: with its author, and with its files sorted. */
function textOf(author: string, request: ProposalRequest): ProposalText {
  const { title, description, supersedes = null } = request
  const common = { author_id: author, title, description, supersedes }
  switch (request.kind) {
    case 'code': {
      const { kind, base_commit, files } = request
      return { ...common, kind, base_commit, files: files.toSorted(byPath) }
    }
    case 'policy':
      return { ...common, kind: request.kind }
    case 'maintainer':
      return { ...common, kind: request.kind, candidate_id: request.candidate_id }
  }
}

/** Orders by UTF-16 code units; no two paths are equal. */
function byPath(a: ProposalFile, b: ProposalFile): number {
  return a.path < b.path ? -1 : 1
}

/** Rejects references to missing or unsuitable proposals or identities; null if all are valid. */
function rejectReferences(forum: Forum, request: ProposalRequest): Rejection | null {
  const { state } = forum
  if (request.supersedes !== undefined) {
    const earlier = state.proposals.find(request.supersedes)
    if (earlier === -1) return { rejected: 'not_found' }
    if (state.proposals.kind(earlier) !== request.kind) {
      return { rejected: 'invalid_supersedes', position: state.proposals.seq(earlier) }
    }
  }
  if (request.kind !== 'maintainer') return null
  const candidate = state.identities.findNamed(request.candidate_id)
  const nominated = { type: 'nominated', at: timeOf(forum) } as const
  const mayServe = candidate !== -1 && state.identities.actors.may(candidate, nominated)
  return mayServe ? null : rejectNamed(forum, 'invalid_candidate', candidate)
}

interface ProposalListRead {
  /** The cursor: lists proposals after this seq, oldest first, or before it, newest first. */
  from: number
  direction: 'after' | 'before'
  limit: number
  /** The limit for the bytes of all listed proposals; at least one is listed in any case. */
  bytesMax?: number
}

interface ProposalList extends Positioned {
  /** In the requested order. */
  proposals: number[]
  /** The cursor of the next page. */
  next: number
  hasMore: boolean
}

export function listProposals({ state }: Forum, read: ProposalListRead): ProposalList {
  const { from, direction, limit, bytesMax = Number.POSITIVE_INFINITY } = read
  const { count } = state.proposals
  const isUp = direction === 'after'
  const border = partition(count, (proposal) => {
    const seq = state.proposals.seq(proposal)
    return isUp ? seq <= from : seq < from
  })
  const [first, end, step] = isUp ? [border, count, 1] : [border - 1, -1, -1]
  const proposals: number[] = []
  let bytes = 0
  let next = first
  for (; next !== end && proposals.length < limit; next += step) {
    bytes += state.proposals.bytes(next)
    if (bytes > bytesMax && proposals.length > 0) break
    proposals.push(next)
  }
  const last = proposals.at(-1)
  const hasMore = next !== end
  // `hasMore` reveals one more proposal than is shown.
  const newest = isUp && last !== undefined ? (hasMore ? next : last) : proposals[0]
  return {
    position: newest === undefined ? 0 : state.proposals.seq(newest),
    proposals,
    next: last === undefined ? from : state.proposals.seq(last),
    hasMore,
  }
}

interface ProposalRead {
  proposalId: string
  /** Returns reviews with a greater seq. */
  after: number
  limit: number
}

export interface ProposalPage extends Positioned {
  proposal: number
  /** Numbers of reviews, oldest first. */
  reviews: number[]
  nextAfter: number
  hasMore: boolean
}

export function readProposal({ state }: Forum, read: ProposalRead): ProposalPage | Rejection {
  const { after, limit } = read
  const proposal = state.proposals.find(read.proposalId)
  if (proposal === -1) return { rejected: 'not_found' }

  const { reviewCount, newestPosition } = state.proposals.actors.columns
  const count = reviewCount.get(proposal)
  const seqAt = (i: number) => state.reviews.seq(state.proposals.review(proposal, i))
  const first = partition(count, (i) => seqAt(i) <= after)
  const end = Math.min(first + limit, count)
  return {
    position: newestPosition.get(proposal),
    proposal,
    reviews: Array.from({ length: end - first }, (_, i) =>
      state.proposals.review(proposal, first + i),
    ),
    nextAfter: end > first ? seqAt(end - 1) : after,
    hasMore: end < count,
  }
}

// The hash that identifies one version of a proposal. Each review names the hash it is about.

/** Returns the SHA-256, in hex, of the proposal's text as canonical JSON (RFC 8785). */
export function hashProposal(text: ProposalText): string {
  return hash('sha256', canonicalize(text), 'hex')
}

interface NewReview {
  caller: number
  /** The caller's address, or '' if no limit needs it. */
  address: string
  /** `gov_…` */
  proposalId: string
  /** The hash of the version that was reviewed. */
  proposalHash: string
  decision: Decision
  text: string
  key: string
}

/** The result of saving: the number of the review. */
export interface SavedReview extends Positioned {
  review: number
  replayed: boolean
}

export function saveReview(forum: Forum, command: NewReview): SavedReview | Rejection {
  const { state, stamps } = forum
  const { caller, proposalHash, decision, key } = command
  const refused = rejectNul([command.text])
  if (refused !== null) return refused
  const text = {
    proposal_id: command.proposalId,
    author_id: state.identities.id(caller),
    proposal_hash: proposalHash,
    decision,
    text: command.text,
  }
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) {
    const review = state.receipts.subject(receipt)
    const isReview = state.receipts.operation(receipt) === 'review'
    return replayOf(state, receipt, isReview && state.reviews.hasText(review, text), { review })
  }

  const proposal = state.proposals.find(command.proposalId)
  if (proposal === -1) return { rejected: 'not_found' }
  const proposalPosition = state.proposals.seq(proposal)
  const reviewed = { type: 'reviewed', by: caller, decision, position: 0 } as const
  if (!state.proposals.actors.may(proposal, reviewed)) {
    return { rejected: 'candidate_only', position: proposalPosition }
  }
  if (state.proposals.hash(proposal) !== proposalHash) {
    return { rejected: 'proposal_hash_mismatch', position: proposalPosition }
  }
  const permit = admit(forum, 'governance', command)
  if (isRejection(permit)) return permit
  const { at, client } = permit
  const saved = { by: caller, id: stamps.id(), proposal, text, key, client }
  const position = commit(forum, permit, { type: 'proposal.reviewed', at, ...saved })
  return { position, review: state.reviews.count - 1, replayed: false }
}

/** The most bytes of all texts of a proposal together, in UTF-8. */
export const textBytesMax = 32 * 1024

interface ProposalTexts {
  title: string
  description: string
  files?: readonly ProposalFile[]
}

/**
 * Returns the rejection for the first violated rule, or null. The interface fixes the rules' order.
 */
export function rejectTexts({ title, description, files = [] }: ProposalTexts): Rejection | null {
  const paths = files.map(({ path }) => path)
  if (!paths.every(isPathAllowed)) return { rejected: 'invalid_path' }
  if (new Set(paths).size < paths.length) return { rejected: 'duplicate_path' }

  const texts = [title, description, ...files.flatMap(textsOf)]
  const rejection = rejectNul(texts)
  if (rejection !== null) return rejection
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > textBytesMax ? { rejected: 'too_large' } : null
}

/** Rejects texts with a NUL, at which many programs would truncate them; null if none has one. */
function rejectNul(texts: readonly string[]): Rejection | null {
  if (!texts.some((text) => text.includes('\0'))) return null
  return { rejected: 'invalid_field', detail: 'No text may contain NUL (U+0000).' }
}

function textsOf(file: ProposalFile): string[] {
  if ('edits' in file) return file.edits.flatMap((edit) => [edit.old_text, edit.new_text])
  return file.content === null ? [] : [file.content]
}

/** Returns whether a path names a file inside the project, on any system, and no private file. */
export function isPathAllowed(path: string): boolean {
  return !forbidden.test(path) && path.split('/').every(isSegmentAllowed)
}

const forbidden = /[\\\p{Cc}:%?#]/u

function isSegmentAllowed(segment: string): boolean {
  if (segment === '' || segment === '.' || segment === '..') return false
  // Some file systems ignore case, and strip trailing dots and spaces from a name.
  const name = segment.toLowerCase().replace(/(?<![. ])[. ]+$/, '')
  return !isPrivate.some((pattern) => pattern.test(name))
}

/** Names of private files and directories, in lower case. */
const isPrivate = [
  /^(?:\.git|node_modules)$/,
  /^\.env(?:rc)?(?:\..*)?$/,
  /\.(?:key|pem|p12|pfx|pk8|ppk|jks|keystore|kdbx)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:\..*)?$/,
  /(?:^|[-_.])(?:private|api|secret)[-_.]?keys?(?:[-_.]|$)/,
  /(?:^|[-_.])(?:secrets?|credentials?)(?:[-_.]|$)/,
  /^\.(?:ssh|aws|netrc|npmrc|pypirc|pgpass|htpasswd)$/,
]
