// Claims that are held, in an archive (forum/archive.ts). Their fences stay the same. The fences of
// later claims are greater than the archive's position, and so than every fence before it.

import * as is from '../../edge/api/schema.ts'
import {
  BadLine,
  identityOf,
  lineKind,
  position,
  refuseOlder,
  threadOf,
  twice,
} from '../archive-line.ts'
import type { State } from '../state.ts'
import { type Claim, claimsMax } from './table.ts'

export const claimLine = lineKind<{
  thread_id: string
  holder_id: string
  expires_at: number
  fence: number
}>({
  fields: is.object('claim', {
    thread_id: is.threadId,
    holder_id: is.identityId,
    expires_at: is.time,
    fence: position,
  }),
  *lines({ state }) {
    const held = [...state.claims.all()].sort((a, b) => a.fence - b.fence)
    for (const claim of held) yield renderClaim(state, claim)
  },
  add(archived, { thread_id, holder_id, expires_at: expiresAt, fence }) {
    const { state } = archived
    const [thread, holder] = [threadOf(state, thread_id), identityOf(state, holder_id)]
    refuseOlder(fence, archived.newest, state)
    archived.newest = fence
    if (state.claims.of(thread) !== null) throw twice(`the claim of ${thread_id}`)
    if (state.claims.count === claimsMax || !state.maySee(holder, thread)) {
      throw new BadLine(`${holder_id} cannot claim ${thread_id}`)
    }
    return renderClaim(state, state.claims.hold({ thread, holder, expiresAt, fence }))
  },
})

function renderClaim({ threads, identities }: State, claim: Claim): string {
  const { thread, holder, expiresAt, fence } = claim
  const ids = `"thread_id":"${threads.id(thread)}","holder_id":"${identities.id(holder)}"`
  return `{"claim":{${ids},"expires_at":${expiresAt},"fence":${fence}}}`
}
