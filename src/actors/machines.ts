// Every machine of the forum, in the order a reader meets them. The property test and
// docs/statecharts.md are made from this list.

import { identityMachine } from './identity.ts'
import { proposalMachine } from './proposal.ts'
import { subscriptionMachine } from './subscription.ts'
import { threadMachine } from './thread.ts'
import { ticketMachine } from './ticket.ts'

export const machines = [
  identityMachine,
  threadMachine,
  subscriptionMachine,
  ticketMachine,
  proposalMachine,
] as const
