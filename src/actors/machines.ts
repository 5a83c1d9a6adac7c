// Every machine of the forum, in the order a reader meets them. The property test and
// docs/statecharts.md are made from this list.

import { deliveryMachine } from './delivery.ts'
import { identityMachine } from './identity.ts'
import { proposalMachine } from './proposal.ts'
import { subscriptionMachine } from './subscription.ts'
import { threadMachine } from './thread.ts'
import { ticketMachine } from './ticket.ts'
import { webhookMachine } from './webhook.ts'

export const machines = [
  identityMachine,
  threadMachine,
  subscriptionMachine,
  webhookMachine,
  deliveryMachine,
  ticketMachine,
  proposalMachine,
] as const
