// Finds the routes of a path: by a map, or by the text around the path's one parameter.

import type { Route } from '../api/route.ts'
import { percentDecoded } from './parse.ts'

/** The targets at one path, by method in lower case. */
type ByMethod<T> = Map<string, T>

export interface Match<T> {
  methods: ByMethod<T>
  /** The parameter in the path, decoded, or ''. */
  id: string
}

type Located = Pick<Route, 'method' | 'path' | 'alsoAt' | 'guarded'>

interface Pattern<T> {
  before: string
  after: string
  methods: ByMethod<T>
}

export class Router<T> {
  readonly #exact = new Map<string, ByMethod<T>>()
  readonly #patterns: Pattern<T>[] = []

  /** Adds a route. One for GET also answers HEAD, unless it is guarded. */
  add({ method, path, alsoAt, guarded }: Located, target: T): void {
    for (const each of alsoAt === undefined ? [path] : [path, alsoAt]) {
      const methods = this.#methodsOf(each)
      methods.set(method, target)
      if (method === 'get' && !guarded) methods.set('head', target)
    }
  }

  #methodsOf(path: string): ByMethod<T> {
    const colon = path.indexOf(':')
    if (colon === -1) {
      const methods = this.#exact.get(path) ?? new Map<string, T>()
      this.#exact.set(path, methods)
      return methods
    }
    const before = path.slice(0, colon)
    const after = path.slice(colon).replace(/^:[^/]+/, '')
    let pattern = this.#patterns.find((known) => known.before === before && known.after === after)
    if (pattern === undefined) {
      pattern = { before, after, methods: new Map() }
      this.#patterns.push(pattern)
    }
    return pattern.methods
  }

  /** Returns the targets at this path, and the parameter in it, or null. */
  find(path: string): Match<T> | null {
    const methods = this.#exact.get(path)
    if (methods !== undefined) return { methods, id: '' }
    for (const { before, after, methods } of this.#patterns) {
      if (!path.startsWith(before) || !path.endsWith(after)) continue
      const id = path.slice(before.length, path.length - after.length)
      if (id === '' || id.includes('/')) continue
      return { methods, id: percentDecoded(id) }
    }
    return null
  }
}

/** Returns the value of the Allow header. */
export function allow(methods: ByMethod<unknown>): string {
  const names = [...methods.keys()].filter((name) => name !== 'head')
  if (methods.has('head')) names.push('head')
  return [...names, 'options'].join(', ').toUpperCase()
}
