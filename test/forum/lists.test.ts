// Goal:   what a slice declares is in the lists at the top of src/forum/: a route, a page, a kind
//         of record or an actor that is left out there would compile, and do nothing.
// Method: every module of every slice is loaded, and its exports are recognized by their shape.

import { readdirSync } from 'node:fs'
import t from 'tap'
import { actorKinds } from '../../src/forum/kinds.ts'
import { withPages } from '../../src/forum/pages.ts'
import { kindOf } from '../../src/forum/records.ts'
import { routes } from '../../src/forum/routes.ts'

const forum = new URL('../../src/forum/', import.meta.url)
/** The modules as written: what was compiled of files that are gone stays where it is. */
const sources = new URL('../../../src/forum/', import.meta.url)
/** It is a program, which runs when it is loaded. */
const program = 'search/process.js'

interface Declared {
  place: string
  value: object
}

async function declarations(): Promise<Declared[]> {
  const slices = readdirSync(sources, { withFileTypes: true }).filter((each) => each.isDirectory())
  const files = slices.flatMap(({ name }) => {
    const names = readdirSync(new URL(`${name}/`, sources)).filter((each) => each.endsWith('.ts'))
    return names.map((each) => `${name}/${each.replace(/ts$/, 'js')}`)
  })
  const modules = files
    .filter((file) => file !== program)
    .map(async (file) => [file, await import(new URL(file, forum).href)] as const)
  return (await Promise.all(modules)).flatMap(([file, module]) => {
    const exported = Object.entries(module).filter(([, value]) => typeof value === 'object')
    return exported
      .filter(([, value]) => value !== null)
      .map(([name, value]) => ({ place: `${file} ${name}`, value: value as object }))
  })
}

const has = (value: unknown, ...names: string[]) =>
  typeof value === 'object' && value !== null && names.every((name) => name in value)

t.test('lists: every route, record and actor of a slice: listed', async (t) => {
  const declared = await declarations()
  const listedRoutes = withPages(routes).flatMap((route) => [route, route.html ?? route])
  const keys = new Set(listedRoutes.map(({ method, path }) => `${method} ${path}`))
  const listed = {
    routes: (value: object) => {
      const { method, path } = value as { method: string; path: string }
      return keys.has(`${method} ${path}`)
    },
    records: (value: object) =>
      Object.entries(value).every(([type, kind]) =>
        Object.entries(kindOf).some(([name, known]) => {
          return name === type && known === kind
        }),
      ),
    actors: (value: object) => (actorKinds as readonly object[]).includes(value),
  }
  const shapes = {
    routes: (value: object) => has(value, 'method', 'path', 'run'),
    records: (value: object) => {
      const kinds = Object.values(value)
      return kinds.length > 0 && kinds.every((kind) => has(kind, 'code', 'fields', 'apply'))
    },
    actors: (value: object) => has(value, 'compiled', 'codes', 'events'),
  }
  for (const what of ['routes', 'records', 'actors'] as const) {
    const ofShape = declared.filter(({ value }) => shapes[what](value))
    t.ok(ofShape.length > 5, `${ofShape.length} ${what} are recognized`)
    const left = ofShape.filter(({ value }) => !listed[what](value))
    t.same(
      left.map(({ place }) => place),
      [],
      `${what} that are left out`,
    )
  }
})
