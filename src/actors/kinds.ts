// All kinds of actors, in the order of the documents. docs/statecharts.md, the table in
// ARCHITECTURE.md and the property tests are derived from this list.

import { delivery } from './delivery.ts'
import { feed } from './feed.ts'
import { identity } from './identity.ts'
import { proposal } from './proposal.ts'
import { subscription } from './subscription.ts'
import { thread } from './thread.ts'
import { ticket } from './ticket.ts'
import { webhook } from './webhook.ts'

export const actorKinds = [
  identity,
  feed,
  thread,
  subscription,
  ticket,
  webhook,
  delivery,
  proposal,
] as const
