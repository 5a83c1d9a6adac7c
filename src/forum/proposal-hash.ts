// The hash that identifies one version of a proposal. Each review names the hash it is about.

import { hash } from 'node:crypto'
import { canonicalize } from 'json-canonicalize'
import type { ProposalText } from '../state/proposals.ts'

/** The SHA-256, in hex, of the proposal's text as canonical JSON (RFC 8785). */
export function hashProposal(text: ProposalText): string {
  return hash('sha256', canonicalize(text), 'hex')
}
