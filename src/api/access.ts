// Who a node lets in: whom it registers, and who may read it. docs/interface.md, "Access".
//
//   a route that    without a token by default    with --members-only    not --registration open
//   is `open`       served                        served                 served
//   shows content   served                        token_required         served
//   `admits`        served                        token_required         token_required
//
// A1. A route shows content unless it is declared `open`: one that nobody thought of is for
//     members.
// A2. The modes change declarations, before a route is served: the edge, the OpenAPI document and
//     the guides of a node say the same.

import type { Access, Route } from './route.ts'

/** A node that lets everybody in. */
export const openToAll: Access = { membersOnly: false, registration: 'open' }

/** The route as a node with these modes serves it; the same one where they change nothing. */
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
