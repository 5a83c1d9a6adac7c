// docs/statecharts.md, rendered from the machines of the actors.

import type { AnyStateMachine } from 'xstate'

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
