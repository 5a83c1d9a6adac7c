// Draws the machines as docs/statecharts.md. The page is made from the definitions that run, so it
// cannot say anything else than they do.
//
// Neighbours: machines.ts lists what is drawn; statecharts.test.ts holds the page on disk to it.

import type { AnyStateMachine } from 'xstate'

const head = `# Statecharts

Made from the machines in \`src/actors\`: what an actor is told, \`[if]\` a guard holds, \`/\` what
it then does. An event that a state does not show changes nothing there. What the words and the
rules mean is at the head of each machine's file.
`

/** The whole page, in the order of `machines`. */
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
