// Access control: which identities a node registers, and who may read. docs/interface.md, "Access".
//
//   a route that    without a token by default    with --members-only    not --registration open
//   is `open`       served                        served                 served
//   shows content   served                        token_required         served
//   `admits`        served                        token_required         token_required
//
// A1. A route is taken to show content unless it is declared `open`, so a route that nobody
//     considered is for members only.
// A2. The access modes change the declarations before any route is served, so the edge, the OpenAPI
//     document and the guides of a node always agree.

import type { Access, Route } from './route.ts'

/** The access modes of a node that is open to everybody. */
export const openToAll: Access = { membersOnly: false, registration: 'open' }

/** Returns whether callers with a token find the names of all identities, not only listed ones. */
export function findsEverybody({ membersOnly, registration }: Access): boolean {
  return membersOnly || registration !== 'open'
}

/** Returns the route as a node with these modes serves it: the same one if they change nothing. */
export function restricted(route: Route, access: Access): Route {
  const html = route.html && restricted(route.html, access)
  const shown = html === route.html ? route : { ...route, html: html! }
  return needsToken(shown, access) ? { ...shown, auth: 'member' } : shown
}

function needsToken(route: Route, { membersOnly, registration }: Access): boolean {
  const { auth, open = false, admits = false } = route
  if (auth === 'bearer') return false
  return (membersOnly && !open) || (registration !== 'open' && admits)
}
