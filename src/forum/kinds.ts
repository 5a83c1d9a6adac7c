// All kinds of actors, in the order in which the documents list them. docs/statecharts.md, the
// table in ARCHITECTURE.md and the property tests are derived from the list.

import { claim } from './claims/machine.ts'
import { feed } from './feed/machine.ts'
import { subscription } from './feed/subscription.ts'
import { proposal } from './governance/machine.ts'
import { identity } from './identities/machine.ts'
import { invitation } from './invitations/machine.ts'
import { thread } from './threads/machine.ts'
import { ticket } from './tickets/machine.ts'
import { delivery } from './webhooks/delivery.ts'
import { webhook } from './webhooks/machine.ts'

export const actorKinds = [
  identity,
  feed,
  thread,
  subscription,
  ticket,
  webhook,
  delivery,
  proposal,
  invitation,
  claim,
] as const
