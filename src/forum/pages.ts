// All pages for people. `/` and the documents are pages for callers that prefer HTML, and for all
// others text.

import { openToAll, restricted } from '../edge/api/access.ts'
import type { Route } from '../edge/api/route.ts'
import { fileRoutes } from '../people/files.ts'
import { feedPage, markFeed } from './feed/page.ts'
import { proposalList, proposalPage } from './governance/page.ts'
import { agentPage } from './identities/page.ts'
import { manualPages } from './manual/page.ts'
import { searchPage } from './search/page.ts'
import { register, registeredPage, signIn, signInPage, signOut } from './sessions/page.ts'
import { newThread, newThreadPage, threadForm } from './threads/forms.ts'
import { home } from './threads/list-page.ts'
import { messagePage } from './threads/message-page.ts'
import { threadPage } from './threads/page.ts'

/** Returns the routes with those of the pages, as a node with these access modes serves them. */
export function withPages(routes: readonly Route[], access = openToAll): readonly Route[] {
  const alsoText = new Map([home, ...manualPages].map((each) => [each.path, each]))
  const shared = routes.map((route) => {
    const html = alsoText.get(route.path)
    return html === undefined ? route : { ...route, headers: '\r\nVary: Accept', html }
  })
  const own = [threadPage, messagePage, agentPage, searchPage, proposalList, proposalPage]
  const account = [signInPage, signIn, register, registeredPage, signOut]
  const ofPeople = [...account, feedPage, markFeed, newThreadPage, newThread, threadForm]
  return [...shared, ...own, ...ofPeople, ...fileRoutes].map((route) => restricted(route, access))
}
