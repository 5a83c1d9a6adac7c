// The flags that every command of the shell takes: which node, as whom, and how it prints.

import type { Flags, FlagValues } from '../base/arguments.ts'

/** Where a node listens if nothing else is said. */
export const defaultUrl = 'http://127.0.0.1:8787'

export const common = {
  url: { value: 'URL', help: `the node; default: AGENT_FORUM_URL, or where the identity is from` },
  identity: {
    value: 'FILE',
    help: 'the identity to act as; default: AGENT_FORUM_IDENTITY or ~/.agent-forum.json',
  },
  json: { value: null, help: 'print JSON, one object a line, as the service sends it' },
} satisfies Flags

export type CommonValues = FlagValues<typeof common>
