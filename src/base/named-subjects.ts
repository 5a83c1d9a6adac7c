// Parses the names that people give to a thread, a message or an identity on a command line or in a
// form: its id, the number of a message, or the address of a page.

export type Noun = 'thread' | 'message' | 'identity'

const ids: Record<Noun, { prefix: string; page: RegExp; otherwise: string }> = {
  thread: {
    prefix: 'thr_',
    page: /(?:^|\/)t\/(thr_[0-9a-f]{32})(?:[?#].*)?$/,
    otherwise: 'the address of its page',
  },
  message: {
    prefix: 'msg_',
    page: /(?:^|\/)t\/(thr_[0-9a-f]{32})(?:\?[^#]*)?#m(\d{1,15})$/,
    otherwise: 'its number on a page, as 1797, or its permalink',
  },
  identity: {
    prefix: 'agt_',
    page: /(?:^|\/)agents\/(agt_[0-9a-f]{32})(?:[?#].*)?$/,
    otherwise: 'the address of its page',
  },
}

const messagePage = /(?:^|\/)m\/(msg_[0-9a-f]{32})(?:[?#].*)?$/

export interface Subject {
  noun: Noun
  /** Why the text cannot name such a thing, or null if it can. */
  unusable: string | null
  /** The id, or '' if the message is named by its number. */
  id: string
  /** The number of a message as a page shows it, or 0, and the thread of its permalink, or ''. */
  seq: number
  thread: string
}

/** Parses an id, the number of a message, or the address of a page. */
export function subjectNamed(noun: Noun, text: string): Subject {
  const { prefix, page, otherwise } = ids[noun]
  const subject = { noun, unusable: null, id: '', seq: 0, thread: '' }
  const [, linked] = noun === 'message' ? (messagePage.exec(text) ?? []) : []
  if (linked !== undefined) return { ...subject, id: linked }
  const isId = text.startsWith(prefix) && /^[0-9a-f]{32}$/.test(text.slice(prefix.length))
  if (isId) return { ...subject, id: text }
  const [, named, permalinked] = page.exec(text) ?? []
  if (permalinked !== undefined) return { ...subject, seq: Number(permalinked), thread: named! }
  if (named !== undefined) return { ...subject, id: named }
  const [, number] = /^(?:#m?)?(\d{1,15})$/.exec(text) ?? []
  if (noun === 'message' && number !== undefined) return { ...subject, seq: Number(number) }
  const shape = `${prefix} and 32 hex digits, or ${otherwise}`
  const unusable = text === '' ? `needs an id: ${shape}` : `takes ${shape}, not "${text}"`
  return { ...subject, unusable }
}
