// The list of docs/client.md: the methods of the client, with all of their arguments.

import { type Method, methods } from './client-methods.ts'
import { camelCase } from './client-types.ts'
import { fieldList } from './generated.ts'

/** What is written by hand in the client, too. `feed` repeats a poll. */
const others = (poll: Method): string[][] => [
  [call('feed', [`{ ${['epoch', ...namesOf(poll)].join(', ')} }`]), '[The feed](#the-feed).'],
  [call('searchPage', ['{ … }']), 'One page of `search`.'],
  [
    call('batch', ['[{ method, path, token, key, body }, …]', '{ wait }']),
    'Sends up to 1,000 requests in one ([many at once](interface.md#many-at-once)), each with a ' +
      'token of its own or that of the client. The answers are in `responses`; one that is a ' +
      'refusal throws nothing.',
  ],
  [call('guide', ["'llms'"]), 'A guide as text; also `notifications` and `governance`.'],
]

export function methodList(): string {
  const rows = methods.map((method) => [signature(method), method.about])
  const poll = methods.find(({ name }) => name === 'notifications')!
  return fieldList([...rows, ...others(poll)])
}

function signature(method: Method): string {
  const names = namesOf(method)
  const given = method.isFlat ? names : names.length > 0 ? [`{ ${names.join(', ')} }`] : []
  return call(method.name, [...(method.id === undefined ? [] : [method.id]), ...given])
}

function namesOf({ parameters }: Method): string[] {
  const given = Object.entries(parameters).filter(([, { const: fixed }]) => fixed === undefined)
  return given.map(([name]) => camelCase(name))
}

function call(name: string, given: readonly string[]): string {
  return `\`${name}(${given.join(', ')})\``
}
