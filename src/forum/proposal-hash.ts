// The hash that names one version of a proposal: reviews are bound to it.

import { hash } from 'node:crypto'
import { canonicalize } from 'json-canonicalize'
import type { ProposalText } from '../state/proposals.ts'

/** SHA-256, in hex, of the canonical JSON (RFC 8785) of what the proposal says. */
export function proposalHash(text: ProposalText): string {
  return hash('sha256', canonicalize(text), 'hex')
}
