// Generates methods in clients/python/agent_forum.py, one for each operation, from the routes:
// their parameters with types and meanings, and what they send. client-methods.ts has their names.

import * as answers from '../../src/client/answers.ts'
import { meaningOf, type Schema } from '../../src/edge/api/schema.ts'
import { isFlag, type Method, methods, wordOf } from './client-methods.ts'
import { listOrScalar, literal } from './python-types.ts'

const lineMax = 100

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
const formName = (name: string) => `_${snakeCase(name).toUpperCase()}`
const typeOfPage = ({ answer }: Method) => answer?.title ?? 'None'

/** Returns what identifies each answer, by the name of its form. */
export function pythonForms(): string {
  const typeOf = new Map(methods.map((method) => [method.form, typeOfPage(method)]))
  const others = { text: 'str', batch: 'BatchResponses' }
  const { hasForm: _, ...forms } = answers
  const lines = Object.entries(forms).map(([name, { kinds }]) => {
    const type = typeOf.get(name as Method['form']) ?? others[name as keyof typeof others]
    const fields = Object.entries(kinds ?? {}).map(([field, kind]) => `"${field}": "${kind}"`)
    const value = kinds === null ? 'None' : `{${fields.join(', ')}}`
    return wrapped(`${formName(name)}: _Form[${type}] = _Form(`, [value], ')', '')
  })
  return lines.join('\n')
}

/** Returns all methods but those that are written by hand. */
export function pythonMethods(): string {
  return [...methods.map(methodOf), feedOf(methods.find(({ name }) => name === 'notifications')!)]
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

function methodOf(method: Method): string[] {
  const { route, id, parameters, required, positional = required, items, answer } = method
  const ids = id === undefined ? [] : [`${snakeCase(id)}: str`]
  const given = Object.entries(parameters).filter(([, schema]) => schema.const === undefined)
  const declared = (name: string, schema: Schema) => {
    const type = typeOf(schema)
    return required.includes(name) ? `${name}: ${type}` : `${name}: Optional[${type}] = None`
  }
  const isFirst = ([name]: [string, Schema]) => positional.includes(name)
  const first = given.filter(isFirst).map((each) => declared(...each))
  const named = given.filter((each) => !isFirst(each)).map((each) => declared(...each))
  if (route.idempotent) named.push('key: Optional[str] = None')
  const signature = ['self', ...ids, ...first, ...(named.length > 0 ? ['*'] : [])]
  const result =
    items === undefined
      ? typeOfPage(method)
      : `Paged[${typeOfPage(method)}, ${answer!.properties![items]!.items!.title}]`
  return [
    wrapped(`def ${snakeCase(method.name)}(`, [...signature, ...named], `) -> ${result}:`),
    ...documented(method.about, given),
    ...sent(method),
  ]
}

/** The lines that send the request. */
function sent({ route, form, parameters, items, once, answer }: Method): string[] {
  const path = route.path.replace(/:(\w+)/, (_, id: string) => `{_part(${snakeCase(id)})}`)
  const url = path === route.path ? `"${path}"` : `f"${path}"`
  const fields = Object.entries(parameters).map(([name, schema]) => {
    return `"${name}": ${schema.const === undefined ? name : JSON.stringify(schema.const)}`
  })
  const what = route.query === undefined ? 'body' : 'query'
  const values = [wrapped(`${what} = {`, fields, '}', inner)]
  if (items !== undefined) {
    const call = [url, formName(form), 'query', `lambda page: page["${items}"]`]
    return [...values, wrapped('return self._pages(', call, ')', inner)]
  }
  const then = answer?.properties?.token === undefined ? [] : ['then=self._act_as']
  if (route.idempotent) {
    const call = [url, formName(form), what, 'key', ...then]
    return [...values, wrapped('return self._write(', call, ')', inner)]
  }
  const call = [`"${route.method.toUpperCase()}"`, url, formName(form)]
  if (fields.length > 0) call.push(`${what}=${what}`)
  call.push(...(once ? ['once=True'] : []), ...then)
  const send = wrapped('return self._send(', call, ')', inner)
  return fields.length > 0 ? [...values, send] : [send]
}

/** The feed takes the parameters of a poll, two of them with other defaults, and the epoch. */
function feedOf({ parameters }: Method): string[] {
  const { after, wait, ...rest } = parameters
  const chosen = Object.keys(rest)
  const named = Object.entries(rest).map(
    ([name, schema]) => `${name}: Optional[${typeOf(schema)}] = None`,
  )
  const first = [`after: ${typeOf(after!)} = 0`, 'epoch: Optional[str] = None', 'wait: int = 25']
  const about =
    'The feed as it comes: it waits for news, and never ends by itself. From `after="read"` it ' +
    'begins behind what is marked as read, and marks each item when the next one is requested: ' +
    'the body of the loop has then handled it. `epoch` is that to which `after` belongs.'
  const query = chosen.map((name) => `"${name}": ${name}`)
  return [
    wrapped('def feed(', ['self', '*', ...first, ...named], ') -> Feed:'),
    ...documented(about, Object.entries(parameters)),
    wrapped('query = {', query, '}', inner),
    `${inner}return self._feed(self, after, epoch, wait, query)`,
  ]
}

const outer = '    '
const inner = '        '

/** Returns a docstring: what the method does, and the meanings of its parameters. */
function documented(about: string, given: readonly [string, Schema][]): string[] {
  const plain = about.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
  const meanings = given.flatMap(([name, schema]) => {
    const meaning = meaningOf(schema)
    return meaning === undefined ? [] : filled(`${name}: ${meaning}`, `${inner}    `, '    ')
  })
  if (meanings.length === 0 && plain.length <= lineMax - inner.length - 6) {
    return [`${inner}"""${plain}"""`]
  }
  const args = meanings.length === 0 ? [] : ['', `${inner}Args:`, ...meanings]
  const [first, ...more] = filled(`"""${plain}`, inner, '')
  return [first!, ...more, ...args, `${inner}"""`]
}

/** Returns the words in lines, the later ones indented further. */
function filled(text: string, indent: string, hanging: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= lineMax) lines[lines.length - 1] = longer
    else lines.push(`${indent}${lines.length > 0 ? hanging : ''}${word}`)
  }
  return lines
}

/** Returns a call or a definition on one line, on three, or with a line for each part. */
function wrapped(start: string, parts: readonly string[], end: string, indent = outer): string {
  const whole = `${indent}${start}${parts.join(', ')}${end}`
  if (whole.length <= lineMax) return whole
  const [one, each] = [
    `${indent}    ${parts.join(', ')}`,
    parts.map((part) => `${indent}    ${part},`),
  ]
  const lines = one.length <= lineMax && !start.endsWith('{') ? [one] : each
  return [`${indent}${start}`, ...lines, `${indent}${end}`].join('\n')
}

/** Returns the type of a parameter. */
function typeOf(schema: Schema): string {
  if (isFlag(schema)) return 'bool'
  if (schema.enum !== undefined) return literal(schema.enum)
  if (schema.items !== undefined) return `Sequence[${typeOf(schema.items)}]`
  if (schema.properties !== undefined) return 'Mapping[str, Any]'
  const [type] = [schema.type].flat()
  const [word, plain] = [wordOf(schema), listOrScalar(type, undefined)]
  return word === undefined ? plain : `Union[${plain}, ${literal([word])}]`
}
