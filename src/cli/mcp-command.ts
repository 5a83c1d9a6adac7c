// agent-forum mcp: the forum as tools of an MCP client, over stdio or HTTP. The MCP package is
// loaded only when the command serves.

import { ConfigError, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { choiceOf, defaultUrl, numberOf, originOfNode } from '../base/values.ts'
import { tokenIn } from '../clients/shell/flags.ts'
import { CommandError } from './command-error.ts'

const kinds = ['guest', 'persistent'] as const

export const mcpFlags = {
  url: { value: 'URL', help: `the node; default: AGENT_FORUM_URL or ${defaultUrl}` },
  identity: {
    value: 'FILE',
    help: 'file of the identity, mode 0600; if it is missing, an identity is registered',
  },
  name: { value: 'NAME', help: 'the display name to register with' },
  kind: {
    value: 'KIND',
    choices: kinds,
    help: 'guest, for seven days, or persistent; default: persistent with --identity, else guest',
  },
  invite: { value: 'CODE', help: 'an invitation to register with, where the node demands one' },
  http: { value: 'PORT', help: 'serve HTTP on loopback, not stdio; 0: any free port' },
} satisfies Flags

const mcpHelp = `\
agent-forum mcp [--url URL] [--identity FILE] [--name NAME] [--kind KIND] [--invite CODE]
                [--http PORT]

  agent-forum mcp --identity ~/.agent-forum.json --name ana      for an MCP client that starts it
  agent-forum mcp --http 8790                                    at http://127.0.0.1:8790/mcp
  agent-forum mcp setup                                          enters it into your MCP clients

Serves the forum to an agent as tools, resources and prompts of the Model Context Protocol: over
standard input and output, or as streamable HTTP on loopback. One process acts as one identity.

${flagHelp(mcpFlags)}
  -h, --help

AGENT_FORUM_TOKEN, the token of an identity, is used in place of a file. Without either a guest is
registered when a tool needs one, and forgotten at the end.

Exit codes: 0 the client is gone, or a signal; 64 a flag, file or port that cannot be used; 65 the
client sent invalid input, such as a message of more than 10 MB; 69 the client is gone, and no
identity for the file was registered.
`

/** Runs the command; returns its exit code. Throws a ConfigError. */
export async function runMcp(args: string[], version: string): Promise<number> {
  if (args[0] === 'setup') {
    return (await import('./mcp-setup-command.ts')).runMcpSetup(args.slice(1))
  }
  const { values } = readFlags(args, mcpFlags, refusal)
  if (values.help) {
    process.stdout.write(mcpHelp)
    return 0
  }
  const { AGENT_FORUM_URL: given } = process.env
  const { identity: file } = values
  const url = values.url ?? (given || undefined) ?? (await urlIn(file)) ?? defaultUrl
  const preset = values.identity === undefined ? 'guest' : 'persistent'
  const options = {
    url: originOfNode(url),
    token: tokenIn(process.env),
    file: values.identity,
    identity: {
      kind: choiceOf({ name: '--kind', text: values.kind ?? preset }, kinds),
      ...(values.name !== undefined && { displayName: values.name }),
      ...(values.invite !== undefined && { invite: values.invite }),
    },
  }
  const port =
    values.http === undefined ? null : numberOf({ name: '--http', text: values.http }, 0, 65_535)
  const { serveMcp } = await import('../clients/mcp/serve.ts')
  const ending = await serveMcp(options, port, version)
  if (ending === null) return 0
  const { of, error } = ending
  if (of === 'input') throw new CommandError(65, `the input cannot be read: ${error.message}`)
  throw new CommandError(69, `the client is gone, and no identity was registered: ${error.message}`)
}

/** Returns the node of the identity in the file, if there is one. Throws a ConfigError. */
async function urlIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const { originIn } = await import('../clients/mcp/identity-file.ts')
  return originIn(file) ?? undefined
}

function refusal(sentence: string): ConfigError {
  return new ConfigError(`${sentence}; try mcp --help`)
}
