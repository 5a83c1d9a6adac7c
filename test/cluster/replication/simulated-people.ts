// The people who use simulated nodes with browsers. One identity signs in, on several devices,
// opens pages, publishes replies with forms, and signs out, at any node. A form is sent again until
// it is answered.
//
// P1. A node that decides shows a session that nobody has ended as signed in.
// P2. A place that has confirmed a sign-out never accepts the sessions that it has ended.
// P3. A reply whose form was answered is where the answer says, once. Others are there at most once
//     (S3 of sightings.ts).
// P4. In the end all nodes accept the same sessions.

import { elementsOf } from '../../people/markup.ts'
import { formOn, nameOn } from '../../people/person.ts'
import type { Request } from '../../simulate/asking.ts'
import type { Caller } from './checked-swarm.ts'
import type { Final } from './sightings.ts'
import type { SimulatedNode, World } from './simulated-node.ts'

const address = '10.0.0.4'
const openMax = 2
const sessionsMax = 3
/** Fewer than an identity may make in an hour. */
const signOutsMax = 8

interface Session {
  cookie: string
  /** Its form token; '' until a page has shown it. */
  form: string
  /** The number of sign-outs that were confirmed when the sign-in was sent. */
  generation: number
  /** The places that have confirmed a sign-out after it had begun. */
  readonly ended: Set<string>
}

interface Reply {
  thread: string
  key: string
  content: string
}

export class SimulatedPeople {
  /** What contradicts P1 or P2, or is refused without a reason. */
  readonly found: string[] = []
  readonly #world: World
  /** Whether sessions can have ended by a change of the epoch. */
  readonly #mayEnd: () => boolean
  #sessions: Session[] = []
  /** Replies whose form has no answer yet. */
  readonly #open = new Set<Reply>()
  readonly #published = new Map<Reply, string>()
  /** The sign-outs that were confirmed, and of what generation one was sent last. */
  #generation = 0
  #ending = -1
  #keys = 0
  #signOuts = 0

  constructor(world: World, mayEnd: () => boolean) {
    this.#world = world
    this.#mayEnd = mayEnd
  }

  get hasOpenReplies(): boolean {
    return this.#open.size > 0
  }

  /** Has the person who holds this token act at the node. */
  act(node: SimulatedNode, by: Caller, threads: readonly string[]): void {
    const drawn = this.#world.random()
    const session = this.#some(this.#sessions)
    if (session === undefined || drawn < 0.1) return this.#signIn(node, by)
    if (drawn < 0.4) return this.#look(node, session)
    if (drawn < 0.5 && this.#signOuts < signOutsMax) return this.#signOut(node, session)
    if (this.#open.size < openMax) {
      const key = `page-${`${this.#keys++}`.padStart(32, '0')}`
      const thread = this.#some(threads)!.replace('/api/threads/', '/t/')
      this.#open.add({ thread, key, content: `a form of ${key}` })
    }
    this.tryAgain(node, by)
  }

  /** Takes one more step towards an answer to a form that has none. */
  tryAgain(node: SimulatedNode, by: Caller): void {
    const reply = this.#some([...this.#open])
    const session = this.#some(this.#sessions.filter((each) => !this.#isEnding(each)))
    if (session === undefined) return this.#signInAnew(node, by)
    if (session.form === '') return this.#look(node, session)
    if (reply === undefined) return
    const { thread, key, content } = reply
    const led = node.leads
    const fields = { form: session.form, key, content, do: 'publish' }
    this.#send(node, thread, session, fields, (status, headers) => {
      const [, seq] = /Location: \S+#m(\d+)/.exec(headers) ?? []
      if (status === 303 && seq !== undefined) {
        const earlier = this.#published.get(reply) ?? seq
        if (earlier !== seq) this.found.push(`P3: ${content} is at ${earlier}, and at ${seq}`)
        this.#published.set(reply, seq)
        this.#open.delete(reply)
      } else if (status !== 401 && status !== 403) this.#wrong(node, thread, status)
      else this.#refused(node, session, led, `a form: ${status}`)
    })
  }

  /** Returns what contradicts P1 to P3; the lists are those in the end. */
  differences(lists: Final): string[] {
    const found = [...this.found]
    const items = [...lists]
      .filter(([list]) => list.startsWith('/api/threads/'))
      .flatMap(([, of]) => of)
    for (const [{ content }, seq] of this.#published) {
      const at = items.filter(({ json }) => JSON.parse(json).content === content)
      if (at.length === 1 && `${at[0]!.seq}` === seq) continue
      found.push(`P3: ${content}, published at ${seq}, is at ${at.map(({ seq }) => seq)}`)
    }
    return found
  }

  /** The sessions that a confirmed sign-out has ended. */
  get ended(): readonly Session[] {
    return this.#sessions.filter(({ ended }) => ended.size > 0)
  }

  /** Looks at a node with each session, when all nodes know that these have ended (P4). */
  lookAtAll(node: SimulatedNode, ended: readonly Session[]): void {
    for (const session of this.#sessions) this.#look(node, session, ended)
  }

  /** Takes one more step towards a session that no sign-out can end that was sent before. */
  #signInAnew(node: SimulatedNode, by: Caller): void {
    const session = this.#some(
      this.#sessions.filter(({ generation }) => generation === this.#ending),
    )
    if (session === undefined || this.#generation > this.#ending) return this.#signIn(node, by)
    this.#signOut(node, session)
  }

  #signIn(node: SimulatedNode, { token }: Caller): void {
    const generation = this.#generation
    this.#send(node, '/sign-in', null, { token, to: '/' }, (status, headers) => {
      const [, cookie] = /Set-Cookie: ([^;]+)/.exec(headers) ?? []
      if (status !== 303 || cookie === undefined) return this.#wrong(node, 'a sign-in', status)
      // Nobody can say whether it began before a sign-out that was sent meanwhile, or after.
      if (generation <= this.#ending) return
      this.#sessions.push({ cookie, form: '', generation, ended: new Set() })
      if (this.#sessions.length > sessionsMax) this.#sessions.shift()
    })
  }

  #signOut(node: SimulatedNode, session: Session): void {
    if (session.form === '') return this.#look(node, session)
    this.#signOuts += 1
    this.#ending = Math.max(this.#ending, session.generation)
    const older = [...this.#sessions]
    this.#send(node, '/sign-out', session, { form: session.form }, (status, headers) => {
      if (status !== 303 && status !== 401) return this.#wrong(node, 'a sign-out', status)
      this.#generation = Math.max(this.#generation, session.generation + 1)
      if (status === 401) return // it had ended before
      if (!headers.includes('Max-Age=0')) this.found.push(`the cookie stays: ${headers}`)
      for (const each of older) {
        if (each.generation <= session.generation) each.ended.add(node.name)
      }
    })
  }

  /** Opens a page that shows who is signed in. */
  #look(node: SimulatedNode, session: Session, ended?: readonly Session[]): void {
    const led = node.leads || ended !== undefined
    const hasEnded = session.ended.has(node.name) || ended?.includes(session) === true
    this.#ask(node, { method: 'get', path: '/new' }, session, (status, _, text) => {
      if (status === 401) return this.#refused(node, session, led, 'a page')
      if (status !== 200) return this.#wrong(node, 'a page', status)
      if (hasEnded) this.found.push(`P2: ${node.name} accepts a session that it has ended`)
      const shown = { elements: elementsOf(text) }
      if (nameOn({ text }) === '') this.found.push('the page shows no name')
      session.form = new Map(formOn(shown, '/new', 'title')).get('form')!
    })
  }

  #refused(node: SimulatedNode, session: Session, led: boolean, what: string): void {
    const isExplained = this.#isEnding(session) || this.#mayEnd() || !led || !node.leads
    this.#world.count(`person: ${isExplained ? 'has' : 'has not'} signed out`)
    if (!isExplained) this.found.push(`P1: ${node.name} does not know a session: ${what}`)
    if (this.#mayEnd() || (this.#isEnding(session) && led && node.leads)) {
      this.#generation = Math.max(this.#generation, session.generation + 1) // it has ended
      this.#sessions = this.#sessions.filter((each) => each !== session || each.ended.size > 0)
    }
  }

  /** Whether somebody may have ended it: a sign-out that was sent may take effect at any time. */
  #isEnding({ generation }: Session): boolean {
    return generation <= this.#ending
  }

  #wrong(node: SimulatedNode, what: string, status: number): void {
    if (status !== 503) this.found.push(`${what} at ${node.name}: ${status}`)
  }

  #send(
    node: SimulatedNode,
    path: string,
    session: Session | null,
    form: Record<string, string>,
    done: (status: number, headers: string) => void,
  ): void {
    this.#ask(node, { method: 'post', path, form }, session, done)
  }

  #ask(
    node: SimulatedNode,
    request: Pick<Request, 'method' | 'path' | 'form'>,
    session: Session | null,
    done: (status: number, headers: string, text: string) => void,
  ): void {
    const { trace, count } = this.#world
    const { method, path, form } = request
    const cookie = session?.cookie ?? ''
    trace(() => `a person: ${method} ${path} ${JSON.stringify(form)} to ${node.name}`)
    node.ask({ ...request, cookie, address }, (status, text, answered) => {
      trace(() => `  a person: ${method} ${path} at ${node.name}: ${status}`)
      count(`person: ${method} ${path.replace(/thr_.*/, '…')} ${status}`)
      done(status, answered, text)
    })
  }

  #some<T>(all: readonly T[]): T | undefined {
    return all[Math.floor(this.#world.random() * all.length)]
  }
}
