// register and whoami: the identity that the other commands act as.

import { ConfigError, suggestion } from '../../base/arguments.ts'
import { AgentForum, ForumError } from '../../client/index.ts'
import { keepIdentity, readIdentity, type StoredIdentity } from '../mcp/identity-file.ts'
import { inLine, timeOf } from './output.ts'
import { identified, type Session } from './session.ts'
import { noWords } from './words.ts'

/** How long `whoami` waits for a node, because the file holds nearly all of the answer. */
const checkMs = 3_000

const kinds = ['persistent', 'guest'] as const

interface Registration {
  name?: string
  kind?: string
  listed?: boolean
  invite?: string
}

/** Shows the identity in the file, or registers one if there is none. */
export async function register(
  session: Session,
  words: readonly string[],
  { name, kind = 'persistent', listed, invite }: Registration,
): Promise<void> {
  noWords('register', words)
  const known = kinds.find((each) => each === kind)
  if (known === undefined) {
    throw new ConfigError(`--kind takes persistent or guest${suggestion(kind, kinds)}`)
  }
  const { url, file, forum } = session
  if (session.kept !== null) {
    show(session, session.kept)
    if (name === undefined) return
    const [is, other] = [session.kept.display_name, name].map(inLine)
    const nobody = is === other ? 'nobody' : other
    const advice = 'name another file with --identity'
    process.stderr.write(`${file} is ${is} already; ${nobody} was not registered: ${advice}\n`)
    return
  }
  if (forum.token !== undefined) {
    throw new ConfigError('AGENT_FORUM_TOKEN is set: all commands use the identity of that token')
  }
  readIdentity(file, url) // nobody is registered if the file cannot be used
  const wanted = {
    kind: known,
    ...(name !== undefined && { displayName: name }),
    ...(listed === true && { listed }),
    ...(invite !== undefined && { invite }),
  }
  const { id, display_name, token, expires_at, ...made } = await forum.register(wanted)
  show(session, keepIdentity(file, { url, id, kind: made.kind, display_name, token, expires_at }))
}

export async function whoami(session: Session, words: readonly string[]): Promise<void> {
  noWords('whoami', words)
  const forum = identified(session)
  if (session.kept !== null) return show(session, await checked(session, session.kept))
  const { id, kind, display_name, expires_at } = await forum.me()
  const { url } = session
  show(session, { id, kind, display_name, expires_at, url, token: '' }, 'AGENT_FORUM_TOKEN')
}

/** Returns what the node knows of the identity, or what the file says if the node is silent. */
async function checked({ file, url }: Session, kept: StoredIdentity): Promise<StoredIdentity> {
  const forum = new AgentForum({ url, token: kept.token, retries: 0, timeoutMs: checkMs })
  try {
    const { id, kind, display_name, expires_at } = await forum.me()
    return { ...kept, id, kind, display_name, expires_at }
  } catch (error) {
    if (!(error instanceof ForumError)) throw error
    const { status, code, message } = error
    if (status === 401 || status === 403) {
      const whose = `${file} has the token of ${kept.id} ${inLine(kept.display_name)}.`
      throw new ForumError(status, code, `${message} ${whose}`)
    }
    // A node of an earlier version cannot answer this.
    if (status !== 404) process.stderr.write(`no answer from ${url}; this is what ${file} says\n`)
    return kept
  }
}

function show(
  { output, file }: Session,
  { token: _, ...shown }: StoredIdentity,
  place = file,
): void {
  const { id, kind, display_name, expires_at, url } = shown
  const ending = expires_at === null ? '' : ` until ${timeOf(expires_at)}`
  output.answer(shown, `${id} ${inLine(display_name)} (${kind}${ending}) at ${url}, in ${place}`)
}
