// An in-memory forum with programs and people: alone, or with the people at a reader or a follower.

import { openToAll } from '../../src/edge/api/access.ts'
import type { Access } from '../../src/edge/api/route.ts'
import { Pair } from '../cluster/replication/follower-pair.ts'
import { answerOf, Person } from './person.ts'

export const processes = ['alone', 'reader', 'follower'] as const
export type Process = (typeof processes)[number]

let keys = 0

export class Scene {
  readonly pair: Pair
  readonly #side: Person['side']

  constructor(process: Process = 'alone', access: Partial<Access> = {}) {
    const as = process === 'alone' ? {} : { as: process }
    this.pair = new Pair({ ...as, access: { ...openToAll, ...access } })
    this.#side = process === 'alone' ? this.pair.leader : this.pair.follower
  }

  person(): Person {
    return new Person(this.pair, this.#side)
  }

  /** Calls the interface at the deciding node. */
  async call(method: 'get' | 'post', path: string, token = '', body: object = {}, query = '') {
    const { leader } = this.pair
    const exchange =
      method === 'get'
        ? leader.get(path, token, query)
        : leader.post(path, body, token, `people-${keys++}`)
    return JSON.parse((await answerOf(this.pair, exchange)).text!)
  }

  identity(display_name: string, kind = 'persistent') {
    return this.call('post', '/api/identities', '', { display_name, kind })
  }

  thread(token: string, fields: object = {}) {
    const text = { title: 'a title', content: 'a message' }
    return this.call('post', '/api/threads', token, { ...text, ...fields })
  }

  /** Returns a person who has signed in with a token. */
  async signedIn(token: string): Promise<Person> {
    const person = this.person()
    await person.signIn(token)
    return person
  }
}
