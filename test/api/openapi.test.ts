// The OpenAPI document: it lists exactly what is served, has an example for everything, and passes
// an established linter.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { unknown } from '../../src/edge/api/examples.ts'
import { errorsOf, openApi, openApiRoute } from '../../src/edge/api/openapi.ts'
import type { Answer, Service } from '../../src/edge/api/route.ts'
import { routes, routesOf } from '../../src/forum/routes.ts'
import { type ErrorCode, errors } from '../../src/kernel/rejection.ts'

type Json = Record<string, unknown>
interface Content {
  schema: Json
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Operation {
  operationId: string
  tags: string[]
  description: string
  'x-openai-isConsequential': boolean
  summary: string
  requestBody?: { required: boolean; content: Record<string, Content> }
  responses: Record<string, { content?: Record<string, Content> }>
}

const service = { publicUrl: 'https://forum.test', version: '1.0.0' } as Service
const document = openApi(routes, service) as {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  tags: { name: string; description: string }[]
  components: { schemas: Record<string, Json> }
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
)

t.test("document: linted with redocly's recommended rules: no finding", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-lint-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'openapi.json'), JSON.stringify(document))
  const manifest = createRequire(import.meta.url).resolve('@redocly/cli/package.json')
  const redocly = join(dirname(manifest), 'bin', 'cli.js')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [redocly, 'lint', '--extends', 'recommended', '--format', 'json', 'openapi.json'],
    {
      cwd: directory,
      env: {
        ...process.env,
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      },
    },
  ).catch((error) => error as { stdout: string })
  const { problems } = JSON.parse(stdout.slice(stdout.indexOf('{')))
  t.strictSame(problems, [])
})

t.test('document: the routes: compared: the same operations both ways', async (t) => {
  t.strictSame(
    operations.map(({ method, path }) => `${method} ${path}`).sort(),
    routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/, '{$1}')}`).sort(),
  )
  const names = operations.map(({ operationId }) => operationId)
  t.equal(new Set(names).size, names.length)
  const tags = new Set(document.tags.map(({ name }) => name))
  for (const { tags: used } of operations) t.ok(tags.has(used[0]))
})

t.test('document: the error codes: compared: routes, list and document agree', async (t) => {
  const declared = new Set(routes.flatMap(errorsOf))
  const ofMembers = routesOf({
    ...{ compat: true, search: true, membersOnly: true },
    registration: 'open',
  }).flatMap(errorsOf)
  const shown = new Set<string>()
  for (const { responses } of operations) {
    for (const [status, { content }] of Object.entries(responses)) {
      for (const [code, { value }] of Object.entries(
        content?.['application/json']?.examples ?? {},
      )) {
        t.equal(errors[code as ErrorCode]?.status, Number(status), `${code} ${status}`)
        t.match(value, { error: code })
        shown.add(code)
      }
    }
  }
  t.strictSame([...shown].sort(), [...declared].sort())
  t.notOk(declared.has('token_required'), 'a node that lets everybody in says nothing of members')
  // A request with a wrong method reaches no operation.
  const all = new Set([...declared, ...ofMembers, 'method_not_allowed'])
  t.strictSame([...all].sort(), Object.keys(errors).sort())
})

t.test('document: every body and answer: its example is valid and complete', async (t) => {
  const ajv = new Ajv2020({ strict: false, formats: { uri: true } })
  ajv.addSchema({ $id: 'document', components: document.components })
  const check = (what: string, { schema, example }: Content) => {
    t.not(example, undefined, `${what} has an example`)
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
    const validate = ajv.compile(JSON.parse(text))
    t.ok(validate(example), `${what}: ${ajv.errorsText(validate.errors)}`)
    const gap = findText(example, unknown)
    t.equal(gap, null, `${what}: no example for ${gap}: give one in its schema or in examples.ts`)
  }
  const sent = Object.values(document.webhooks).map(({ post }) => post)
  t.equal(sent.length, 2)
  for (const { operationId, requestBody, responses } of [...operations, ...sent]) {
    if (requestBody !== undefined) check(operationId, requestBody.content['application/json'])
    for (const [status, { content = {} }] of Object.entries(responses)) {
      if (status !== '200' && status !== '201') continue
      for (const each of Object.values(content)) check(`${operationId} ${status}`, each)
    }
  }
})

/** Returns the path to the text within the value, or null if the value does not contain it. */
function findText(value: unknown, text: string, path = 'it'): string | null {
  if (value === text) return path
  if (typeof value !== 'object' || value === null) return null
  for (const [name, part] of Object.entries(value)) {
    const found = findText(part, text, `${path}.${name}`)
    if (found !== null) return found
  }
  return null
}

t.test('document: tool-calling clients: confirm writes and publishing', async (t) => {
  for (const { method, path, 'x-openai-isConsequential': asks } of operations) {
    t.equal(asks, method !== 'get' || path === '/api/compat/publish', `${method} ${path}`)
  }
})

t.test('document: every request body: no defaults, which clients take as required', async (t) => {
  const bodies = operations.flatMap(({ requestBody }) => requestBody ?? [])
  const requests = Object.entries(document.components.schemas).filter(([name]) => /^New/.test(name))
  t.ok(requests.length > 5)
  t.notMatch(JSON.stringify([bodies, requests]), '"default":')
  const { NewThread, NewIdentity } = document.components.schemas
  t.match(NewThread.properties, { visibility: { description: 'Defaults to "public".' } })
  t.match(NewIdentity.properties, { kind: { description: 'Defaults to "guest".' } })
})

t.test('document: execute: any body or none: as it is served', async (t) => {
  const { requestBody } = operations.find(({ operationId }) => operationId === 'executeProposal')!
  t.equal(requestBody!.required, false)
  t.notOk('type' in requestBody!.content['application/json'].schema)
})

t.test('document: every path that is served: listed, even the document itself', async (t) => {
  const beside = operations.map(({ path }) => path).filter((path) => !path.startsWith('/api/'))
  t.strictSame(beside.sort(), [
    '/',
    '/.well-known/agent-forum.json',
    '/docs',
    '/docs/{name}',
    '/governance.txt',
    '/llms.txt',
    '/notifications.txt',
    '/openapi.json',
    '/robots.txt',
  ])
})

t.test('document: status: its example: names the guide that is served', async (t) => {
  const { responses } = document.paths['/api/status'].get
  const { example } = responses[200].content!['application/json']
  t.match(example, { governance: { guide: '/governance.txt' } })
})

t.test('document: publishing by GET: the summaries say that it writes', async (t) => {
  const compat = operations.filter(({ path }) => path.startsWith('/api/compat/'))
  t.equal(compat.length, 2)
  for (const { summary } of compat) t.match(summary, /\bwrites?\b/)
})

t.test('document: for two hosts in turn: each its own, and rendered once', (t) => {
  const { run } = openApiRoute(routes)
  let renders = 0
  const watched = Object.defineProperty({ ...service }, 'watch', {
    enumerable: true, // so that it is read where the document is rendered for this service
    get: () => (renders += 1),
  })
  const ofHost = (host: string, ifNoneMatch = '') =>
    run(watched, { origin: `http://${host}`, ifNoneMatch } as never) as Answer
  const hosts = ['one.test', 'two.test']
  const [one, two] = hosts.map((host) => ofHost(host)) as [Answer, Answer]
  t.match(
    [one, two].map(({ body }) => JSON.parse(`${body}`).servers),
    [[{ url: 'http://one.test' }], [{ url: 'http://two.test' }]],
  )
  t.not(one.etag, two.etag)
  t.match(ofHost('one.test', one.etag), { status: 304 })
  t.match(ofHost('two.test', one.etag), { status: 200 })
  t.equal(renders, 1)
  t.end()
})
