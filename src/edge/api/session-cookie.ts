// The cookie that holds the session of a person (forum/sessions/commands.ts). Only pages and their
// forms read it; the interface, /api/, ignores it.
//
// C1. Scripts cannot read the cookie, other sites cannot have it sent (SameSite=Strict), and a
//     forum behind https never gets it over plain http. Its name differs from forum to forum,
//     because all ports of a machine share their cookies.
// C2. Behind https, the prefix __Host- keeps other hosts of the same domain from setting it.

import type { Session } from '../../forum/sessions/commands.ts'
import type { Service } from './route.ts'

const isSecure = ({ publicUrl }: Service) => publicUrl.startsWith('https:')

function nameOf(service: Service): string {
  const prefix = isSecure(service) ? '__Host-' : ''
  return `${prefix}forum-${service.epoch.slice(0, 8)}`
}

/** Returns the session in a Cookie header as `findSession` does, or null if there is none. */
export function sessionIn(service: Service, header: string): Session | 'absent' | null {
  if (header === '') return null
  const begin = `${nameOf(service)}=`
  const pair = header.split(';', cookiesMax).find((each) => each.trimStart().startsWith(begin))
  if (pair === undefined) return null
  const sealed = pair.trim().slice(begin.length)
  return service.commands.findSession(service.forum, sealed, service.epoch)
}

/** The number of cookies that are examined. */
const cookiesMax = 64

/** Returns the header line, preceded by a CRLF, that begins a session; null ends it. */
export function cookieLine(service: Service, sealed: string | null): string {
  const seconds = sealed === null ? 0 : service.commands.sessionMs / 1000
  const secure = isSecure(service) ? '; Secure' : ''
  return (
    `\r\nSet-Cookie: ${nameOf(service)}=${sealed ?? ''}; Max-Age=${seconds}; Path=/; HttpOnly` +
    `; SameSite=Strict${secure}`
  )
}
