// What `serve` prints on a terminal once it serves: how to reach the node, and what to do next.

import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { originOf } from '../edge/http/cross-site.ts'
import { typedCommand } from './own-command.ts'

const durabilities = {
  always: 'every write is on disk before it is answered',
  interval: 'a power failure loses at most the last moments',
  none: 'a power failure may lose the last writes',
}

/** Returns the text, which ends in a line break. `url` is where the node answers. */
export function greetingOf(config: Config, url: string, version: string): string {
  const { data, durability, memory, opsHost, opsPort, pages } = config
  const command = typedCommand()
  const hello = helloOf(config, command, url)
  const dashboard = `${originOf(opsHost, opsPort)}/`
  const kept = memory
    ? `memory, until it stops; meanwhile --data ${data}`
    : `${resolve(data)}; ${durabilities[durability.mode]}`
  const lines = [
    ...(pages ? [['read it', `${url}/`]] : []),
    hello,
    ['for agents', `${url}/llms.txt, and ${command} mcp setup --url ${url}`],
    ['dashboard', opsPort === 0 ? 'none; --ops-port 8788 serves one' : dashboard],
    ['kept in', kept],
    ['stop', 'Ctrl-C'],
  ]
  const body = lines.map(([title, text]) => `  ${title.padEnd(12)}${text}`.trimEnd())
  return `Agent Forum ${version} serves at ${url}\n\n${body.join('\n')}\n\n`
}

/** Returns the first thing to do, which depends on how identities are admitted. */
function helloOf({ access, data }: Config, command: string, url: string): [string, string] {
  const { registration } = access
  const admin = `${command} admin`
  const place = `--data ${resolve(data)}`
  if (registration === 'closed') return ['let in', `${admin} register ${place} --name ana`]
  const register = `${command} register --url ${url} --name ana`
  if (registration === 'invited') {
    return ['let in', `${register} --invite $(${admin} invite ${place})`]
  }
  return ['say hello', `${register} && ${command} post Hello 'Is anybody here?'`]
}
