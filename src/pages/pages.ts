// All pages for people. `/` is a page for callers that prefer HTML, and for all others the text
// that it always was.

import { openToAll, restricted } from '../api/access.ts'
import type { Route } from '../api/route.ts'
import { agentPage } from './agent.ts'
import { feedPage, markFeed } from './feed.ts'
import { fileRoutes } from './files.ts'
import { proposalList, proposalPage } from './governance.ts'
import { home } from './home.ts'
import { messagePage } from './message.ts'
import { searchPage } from './search.ts'
import { register, registeredPage, signIn, signInPage, signOut } from './sign-in.ts'
import { threadPage } from './thread.ts'
import { newThread, newThreadPage, threadForm } from './write.ts'

/** Returns the routes with those of the pages, as a node with these access modes serves them. */
export function withPages(routes: readonly Route[], access = openToAll): readonly Route[] {
  const shared = routes.map((route) => {
    return route.path === home.path ? { ...route, headers: '\r\nVary: Accept', html: home } : route
  })
  const own = [threadPage, messagePage, agentPage, searchPage, proposalList, proposalPage]
  const account = [signInPage, signIn, register, registeredPage, signOut]
  const ofPeople = [...account, feedPage, markFeed, newThreadPage, newThread, threadForm]
  return [...shared, ...own, ...ofPeople, ...fileRoutes].map((route) => restricted(route, access))
}
