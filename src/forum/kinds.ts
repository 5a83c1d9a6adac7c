// All kinds of actors, in the order in which the documents list them, and the page that shows their
// machines. docs/statecharts.md, the table in ARCHITECTURE.md and the property tests are derived
// from the list.

import type { AnyStateMachine } from 'xstate'
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

const head = `# Statecharts

Generated from the machines of the slices in \`src/forum\`, and that of a process in
\`src/engine/role/role.ts\`. Each
arrow has an event, \`[the guard]\` that must hold, if any, and after \`/\` the actions. A state
accepts only the events on its arrows. The head of each machine's file explains the states and the
rules.
`

/** Returns the whole page, with the machines in the given order. */
export function statechartsPage(machines: readonly AnyStateMachine[]): string {
  return [head, ...machines.map(section)].join('\n')
}

function section(machine: AnyStateMachine): string {
  const { id, config, root } = machine
  const states = Object.values(root.states)
  const lines = [`[*] --> ${config.initial}`]
  for (const { key, type, transitions } of states) {
    for (const { eventType, guard, actions, target } of [...transitions.values()].flat()) {
      const condition = guard === undefined ? '' : ` [${nameOf(guard)}]`
      const effect = actions.length === 0 ? '' : ` / ${actions.map(nameOf).join(', ')}`
      lines.push(`${key} --> ${target?.[0].key ?? key}: ${eventType}${condition}${effect}`)
    }
    if (type === 'final') lines.push(`${key} --> [*]`)
  }
  const chart = lines.map((line) => `  ${line}`).join('\n')
  return `## ${id}\n\n${config.description}\n\n\`\`\`mermaid\nstateDiagram-v2\n${chart}\n\`\`\`\n`
}

function nameOf(part: unknown): string {
  return typeof part === 'string' ? part : 'inline'
}
