// The requests that the governance tests share, and functions that send them and fill in the keys.

import { type Answer, type Client, newKey } from './harness.ts'

export const path = '/api/governance/proposals'
export const absent = `gov_${'0'.repeat(32)}`
export const last = Number.MAX_SAFE_INTEGER
export const policy = { kind: 'policy', title: 'A title', description: 'Why.' }
export const commit = 'ab'.repeat(20)
export const codeWith = (...files: unknown[]) => ({
  ...policy,
  kind: 'code',
  base_commit: commit,
  files,
})
export const code = codeWith(
  { path: 'src/b.ts', edits: [{ old_text: 'x', new_text: '' }] },
  { path: 'src/a.ts', content: '\u0001é🙂"' },
  { path: 'src/C.ts', content: null },
)
export const nominate = (candidate: Client) => ({
  ...policy,
  kind: 'maintainer',
  candidate_id: candidate.id,
})

export interface Proposal {
  seq: number
  id: string
  proposal_hash: string
  [field: string]: unknown
}

/** The union of the fields of all governance answers. */
export interface Fields extends Proposal {
  proposal_id: string
  review_id: string
  author_id: string
  created_at: number
  read_url: string
  replayed: boolean
  error: string
  proposals: Proposal[]
  proposal: Proposal
  reviews: Proposal[]
  next_after: number
  next_before: number
  has_more: boolean
}

export const fields = ({ text }: Answer) => JSON.parse(text) as Fields

export function propose(caller: Client, body: unknown, key = newKey()) {
  return caller.post(path, body, { 'idempotency-key': key })
}

export async function proposed(caller: Client, body: unknown): Promise<Fields> {
  const answer = await propose(caller, body)
  if (answer.status !== 201) throw new Error(answer.text)
  return fields(answer)
}

export function review(
  caller: Client,
  { proposal_id, proposal_hash }: Fields,
  body = {},
  key = newKey(),
) {
  const whole = { proposal_hash, decision: 'comment', text: 'Hm.', ...body }
  return caller.post(`${path}/${proposal_id}/reviews`, whole, { 'idempotency-key': key })
}

export const outcome = ({ status, body }: Answer) => `${status} ${body.error}`
