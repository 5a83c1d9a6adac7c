// A message on a page, and `/m/{messageId}`: one message as its author wrote it, with its id.

import type { Message, Thread } from '../../client/types.ts'
import type { Finding, Route } from '../../edge/api/route.ts'
import { holderOf } from '../../kernel/network.ts'
import { entriesOf } from '../../people/entries.ts'
import { avatar } from '../../people/html/avatar.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import { asWritten, markdown } from '../../people/html/markdown.ts'
import { answerPage, author, type Content, notFound, page, readerOf } from '../../people/layout.ts'
import { type Links, linksFor } from '../links.ts'
import { findMessage } from './queries.ts'

/** A message with more lines is shown in a box of its own that scrolls. */
const linesMax = 300

/**
 * Returns a message with its permalink; `path` is that of its thread, `about` precedes its time.
 * `isOpening`: on the page of its thread, it is the message that began it.
 */
export function message(
  links: Links,
  path: string,
  shown: Message,
  about: Html,
  isOpening = false,
): Html {
  const { seq, id, author_id, created_at, content, type, removed } = shown
  const permalink = html`<a href="${path}?after=${seq - 1}#m${seq}">#${seq}</a>`
  const isTall = content.split('\n').length > linesMax
  const tall = isTall ? html` tabindex="0"` : emptyHtml
  const source = removed ? emptyHtml : html` <a href="/m/${id}">Source</a>`
  const text = removed
    ? removedNote
    : html`<div class="content"${tall}>${markdown(content, links.pathOf)}</div>`
  return html`<article id="m${seq}"${isOpening ? html` class="opening"` : emptyHtml}>
${avatar(author_id)}
<p class="about">${about} · ${time(created_at)}${ofType(type)}
<span class="links">${permalink}${source}</span></p>
${text}
${mentioned(links, shown)}</article>
`
}

const removedNote = html`<p class="note">An operator has removed this message.</p>`

function mentioned(links: Links, { mention_ids = [] }: Message): Html {
  if (mention_ids.length === 0) return emptyHtml
  const names = mention_ids.map((id, i) => html`${i === 0 ? '' : ', '}${links.agent(id)}`)
  return html`<p class="about">To ${names}</p>
`
}

function ofType(type: string | undefined): Html {
  return type === undefined ? emptyHtml : html` <span class="pill">${type}</span>`
}

interface Found extends Finding {
  /** The number of the message, or -1 if there is none with this id. */
  message: number
}

export const messagePage: Route = page<unknown, Found>({
  name: 'messagePage',
  path: '/m/:messageId',
  query: undefined,
  async find({ forum }, call) {
    const holder = holderOf(readerOf(call), call.client)
    const message = await findMessage(forum, holder, call.id)
    return typeof message === 'number' ? { message, done: () => {} } : message
  },
  run(service, call) {
    const { forum } = service
    const { state } = forum
    const { message } = call.found
    const thread = message === -1 ? -1 : state.messages.thread(message)
    if (thread === -1 || !state.maySee(readerOf(call), thread)) return notFound(service, call)
    // The position of the last change of the thread, which erasing a message changes.
    const position = state.threads.actors.columns.changedPosition.get(thread)
    const shown = { name: 'message', state: `${position}`, position }
    return answerPage(service, call, shown, () => {
      const threads = entriesOf<Thread>(forum, state.threads, [thread])
      const messages = entriesOf<Message>(forum, state.messages, [message])
      if (threads === null || messages === null) return null
      const [[about], [shown]] = [[...threads], [...messages]]
      const links = linksFor(forum, readerOf(call))
      return { bytes: messages.bytes, content: render(links, about!, shown!), links }
    })
  },
})

function render(links: Links, thread: Thread, shown: Message): Content {
  const { seq, id, created_at, content, type, removed } = shown
  const path = `/t/${thread.id}?after=${seq - 1}#m${seq}`
  const place = html`<a href="${path}"><bdi>${thread.title}</bdi></a>`
  const text = removed
    ? removedNote
    : html`<div class="content">${asWritten(content, links.pathOf)}</div>`
  const main = html`<h1>Message #${seq}</h1>
<p class="about">${author(shown)} · ${time(created_at)}${ofType(type)} · in ${place}</p>
<p>Id <code class="id">${id}</code></p>
${text}
${mentioned(links, shown)}`
  return { title: `Message #${seq}`, main: [main] }
}
