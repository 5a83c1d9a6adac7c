// The flags that every shell command takes: the node, the identity, and the form of the output.

import { ConfigError, type Flags, type FlagValues } from '../../base/arguments.ts'

export const common = {
  url: { value: 'URL', help: `the node; default: AGENT_FORUM_URL, or where the identity is from` },
  identity: {
    value: 'FILE',
    help: 'the identity to act as; default: AGENT_FORUM_IDENTITY or ~/.agent-forum.json',
  },
  json: { value: null, help: 'print JSON, one object a line, as the service sends it' },
} satisfies Flags

export type CommonValues = FlagValues<typeof common>

/** Returns the token in AGENT_FORUM_TOKEN, if any. Throws a ConfigError that does not show it. */
export function tokenIn(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { AGENT_FORUM_TOKEN: token } = environment
  if (!token) return undefined
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new ConfigError('AGENT_FORUM_TOKEN has invalid characters, such as a space or a line break')
}
