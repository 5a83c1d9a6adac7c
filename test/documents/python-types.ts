// Generates the types in clients/python/agent_forum.py: the shapes of answers as typed
// dictionaries, from the schemas with which the server renders them.

import type { Schema } from '../../src/edge/api/schema.ts'
import { answerSchemas } from './client-types.ts'

/** Returns the classes, separated by two blank lines, without a final line break. */
export function pythonTypes(): string {
  const classes = [...answerSchemas()].map(([title, schema]) => declaration(title, schema))
  const event = 'WebhookEvent = Union[WebhookChallenge, NotificationsAvailable]'
  return [...classes, event].join('\n\n\n')
}

function declaration(title: string, { properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema)
    return `    ${name}: ${required.includes(name) ? type : `NotRequired[${type}]`}`
  })
  return [`class ${title}(TypedDict):`, ...fields].join('\n')
}

function typeOf(schema: Schema): string {
  const { properties, items, title } = schema
  if (schema.const !== undefined) return literal([schema.const])
  if (schema.enum !== undefined) return literal(schema.enum)
  const types = [schema.type].flat()
  const named = types.filter((type) => type !== 'null')
  const name = properties !== undefined ? nameOf(title!) : listOrScalar(named[0], items)
  if (named.length === 0) return 'None'
  return types.includes('null') ? `Optional[${name}]` : name
}

export function listOrScalar(type: string | undefined, items: Schema | undefined): string {
  if (items !== undefined) return `List[${typeOf(items)}]`
  return { integer: 'int', number: 'float', boolean: 'bool', string: 'str' }[type ?? ''] ?? 'Any'
}

const nameOf = (title: string) => (title === 'NoWebhook' ? 'Webhook' : title)

export function literal(values: readonly unknown[]): string {
  const written = values.map((value) => {
    return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)
  })
  return `Literal[${written.join(', ')}]`
}

/**
 * Returns what type checkers read of AsyncAgentForum: the methods of `_Operations`, whose results
 * are awaited there. No type can say that of all of them at once. `client` is the file.
 */
export function pythonAsyncOperations(client: string): string {
  const [, operations] = /^class _Operations:\n(.*?)\n {4}def _act_as/ms.exec(client)!
  const methods = [...operations!.matchAll(/^ {4}def (\w+\(.*?\)) -> (.*?):\n/gms)]
  const lines = methods.flatMap(([, call, answer]) => {
    const isRead = /^(Paged|Feed)\b/.test(answer!)
    const start = isRead || call!.startsWith('__init__') ? 'def' : 'async def'
    return `${start} ${call} -> ${isRead ? 'Async' : ''}${answer}: ...`.split('\n')
  })
  const fields = ['token: Optional[str]', '_requests: _Requests', '_connections: Any']
  const body = [...fields.map((field) => `    ${field}`), ...lines.map(pad)]
  return ['class _AsyncOperations:', ...body].map((line) => `    ${line}`).join('\n')
}

/** The lines of a method's parameters are indented already; its first line is not. */
const pad = (line: string) => (/^(async )?def /.test(line) ? `    ${line}` : line)
