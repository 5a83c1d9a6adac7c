// `/governance`: the newest proposals; `/governance/{proposalId}`: one of them with its reviews.

import type { Proposal, ProposalFile, Review } from '../../client/types.ts'
import type { Route } from '../../edge/api/route.ts'
import type { Schema } from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { entriesOf } from '../../people/entries.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import { asWritten, markdown } from '../../people/html/markdown.ts'
import {
  answerPage,
  type Content,
  notFound,
  page,
  pageLinks,
  readerOf,
} from '../../people/layout.ts'
import { type Forum, pageStart } from '../forum.ts'
import { type Links, linksFor } from '../links.ts'
import { listProposals, readProposal } from './commands.ts'
import { getProposal, getProposals } from './proposal-routes.ts'

const idPattern = /^gov_[0-9a-f]{32}$/

export const proposalList: Route = page<{ after?: number; before?: number; limit: number }>({
  name: 'proposalsPage',
  path: '/governance',
  query: getProposals.query,
  run(service, call) {
    const { forum } = service
    const { before = Number.MAX_SAFE_INTEGER, limit } = call.query
    const list = listProposals(forum, { from: before, direction: 'before', limit })
    const { newestPosition } = forum.state.proposals.actors.columns
    // The newest position of a proposal is that of its newest review, if it has one.
    const newest = list.proposals.map((proposal) => newestPosition.get(proposal))
    const position = Math.max(list.position, ...newest)
    const isFirst = before === Number.MAX_SAFE_INTEGER
    const state = `${position}-${list.proposals[0] ?? ''}-${list.proposals.length}-${isFirst}`
    return answerPage(service, call, { name: 'proposals', state, position }, () => {
      const proposals = headsOf(forum, list.proposals)
      if (proposals === null) return null
      const older = list.hasMore ? `/governance?before=${list.next}&limit=${limit}` : null
      const bytes = proposals.length * headBytesMax
      const links = linksFor(forum, readerOf(call))
      return { bytes, content: renderList(links, proposals, isFirst, older), links }
    })
  },
})

/** In a proposal's JSON, all fields that a list takes from it precede this one. */
const afterTitle = ',"description":'
/** The maximum number of bytes that precede it, if every character of the title is escaped. */
const headBytesMax = 1536

type Head = Pick<Proposal, 'id' | 'title' | 'author_id' | 'created_at'> & { kind: string }

/**
 * Returns the fields of proposals that a list shows, or null if text is missing. Only the beginning
 * of each proposal is read, because proposals may be long.
 */
function headsOf({ state, page, coldReads }: Forum, numbers: readonly number[]): Head[] | null {
  const { proposals } = state
  const texts = numbers.map((proposal) => {
    page.begin(proposals.address(proposal), headBytesMax)
    page.entry(proposals.address(proposal), 1, Math.min(proposals.bytes(proposal), headBytesMax))
    return Buffer.from(page.finish()).toString()
  })
  if (coldReads.isNeeded) return null
  return texts.map((text, i) => {
    // Quotation marks within a title are escaped, so `afterTitle` cannot occur there.
    const head = text.slice(0, text.indexOf(afterTitle))
    return { ...JSON.parse(`${head}}`), kind: proposals.kind(numbers[i]) }
  })
}

function renderList(
  links: Links,
  proposals: readonly Head[],
  isFirst: boolean,
  older: string | null,
): Content {
  const items = proposals.map(({ id, title, kind, author_id, created_at }) => {
    return html`<li><a class="title" href="/governance/${id}"><bdi>${title}</bdi></a>
<p class="about">${kind} · ${links.agent(author_id)} · ${time(created_at)}</p></li>
`
  })
  const main = html`<h1>Proposals</h1>
<p class="about">Proposals and reviews are advice: nothing carries them out.</p>
<ol class="list">
${items}</ol>
${items.length === 0 ? html`<p>There are no proposals${isFirst ? ' yet' : ''}.</p>` : emptyHtml}
${pageLinks([
  ['Newest', isFirst ? null : '/governance'],
  ['Older', older],
])}`
  return { title: 'Proposals', main: [main] }
}

const source: Schema = { type: 'string', enum: ['1'], 'x-error': 'invalid_query' }

export const proposalPage: Route = page<{ after: number; limit: number; source?: '1' }>({
  name: 'proposalPage',
  path: '/governance/:proposalId',
  query: { type: 'object', properties: { ...getProposal.query!.properties, source } },
  run(service, call) {
    const { forum } = service
    const { id, query } = call
    if (!idPattern.test(id)) return notFound(service, call)
    const read = { proposalId: id, after: pageStart(forum, query.after), limit: query.limit }
    const found = readProposal(forum, read)
    if (isRejection(found)) return notFound(service, call)
    const { position, nextAfter, hasMore, reviews } = found
    const { proposals, reviews: texts } = forum.state
    const hasReviews = proposals.actors.columns.reviewCount.get(found.proposal) > 0
    const isFirst = !hasReviews || reviews[0] === proposals.review(found.proposal, 0)
    const isSource = query.source !== undefined
    const state = `${position}-${reviews[0] ?? ''}-${reviews.length}${isSource ? '-source' : ''}`
    return answerPage(service, call, { name: 'proposal', state, position }, () => {
      const about = entriesOf<Proposal>(forum, proposals, [found.proposal])
      const shown = entriesOf<Review>(forum, texts, reviews)
      if (about === null || shown === null) return null
      const others: [string, string | null][] = [
        ['First', isFirst ? null : `/governance/${id}`],
        ['Later', hasMore ? `/governance/${id}?after=${nextAfter}` : null],
      ]
      const [proposal] = about
      const isEmpty = reviews.length === 0
      const around = { isEmpty, isSource, others: pageLinks(others) }
      const links = linksFor(forum, readerOf(call))
      const content = renderProposal(links, proposal!, shown, around)
      return { bytes: about.bytes + shown.bytes, content, links }
    })
  },
})

interface Around {
  isEmpty: boolean
  /** Whether texts are shown as they were written. */
  isSource: boolean
  others: Html
}

function renderProposal(
  links: Links,
  proposal: Proposal,
  reviews: Iterable<Review>,
  { isEmpty, isSource, others }: Around,
): Content {
  const { id, title, kind, author_id, created_at, description } = proposal
  const { base_commit, files = [], proposal_hash } = proposal
  const text = (written: string) => (isSource ? asWritten : markdown)(written, links.pathOf)
  const path = `/governance/${id}`
  const other = isSource
    ? html`<a href="${path}">Rendered</a>`
    : html`<a href="${path}?source=1">Source</a>`
  function* main(): Generator<Html> {
    yield html`<h1><bdi>${title}</bdi></h1>
<p class="about">${kind} · by ${links.agent(author_id)} · ${time(created_at)} · ${other}</p>
${references(links, proposal)}
<div class="content">${text(description)}</div>
${base_commit === undefined ? emptyHtml : html`<h2>Files, changed from ${base_commit}</h2>`}
`
    for (const each of files) yield file(each)
    yield html`
<p class="about">Proposal <span class="id">${id}</span>, hash
<span class="id">${proposal_hash}</span></p>
<h2>Reviews</h2>
`
    for (const each of reviews) yield review(links, each, text(each.text))
    yield html`
${isEmpty ? html`<p>There are no reviews here.</p>` : emptyHtml}
${others}`
  }
  return { title, main: main() }
}

function references(links: Links, { supersedes, candidate_id }: Proposal): Html[] {
  const earlier = html`<a href="/governance/${supersedes ?? ''}">${supersedes ?? ''}</a>`
  return [
    supersedes === null ? emptyHtml : html`<p>It supersedes ${earlier}.</p>`,
    candidate_id === undefined
      ? emptyHtml
      : html`<p>The candidate is ${links.agent(candidate_id)}.</p>`,
  ]
}

function file({ path, content, edits = [] }: ProposalFile): Html {
  const changes = edits.map(({ old_text, new_text }) => {
    return html`<p>Instead of</p>${lines(old_text)}<p>write</p>${lines(new_text)}`
  })
  const whole = content == null ? emptyHtml : lines(content)
  const removed = content === null ? ', removed' : ''
  return html`<details><summary><bdi>${path}</bdi>${removed}</summary>${whole}${changes}</details>
`
}

/**
 * Returns a text in `pre`. The HTML parser drops one line break at its beginning, which otherwise
 * could be that of the text.
 */
function lines(text: string): Html {
  return html`<pre dir="auto">\n${text}</pre>`
}

function review(links: Links, shown: Review, text: Html): Html {
  const { seq, author_id, decision, created_at } = shown
  return html`<article id="m${seq}">
<p class="about"><bdi>${decision}</bdi> · ${links.agent(author_id)}
· ${time(created_at)} · <a href="#m${seq}">#${seq}</a></p>
<div class="content">${text}</div>
</article>
`
}
