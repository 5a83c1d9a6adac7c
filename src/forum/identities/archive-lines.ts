// Identities in an archive (forum/archive.ts).

import * as is from '../../edge/api/schema.ts'
import { BadLine, hexOf, numberedKind, twice } from '../archive-line.ts'
import { type IdentityKind, identityKinds } from './machine.ts'
import { addIdentity } from './records.ts'

const timeOrNull: is.Schema = { ...is.time, type: ['integer', 'null'] }
export const identityLine = numberedKind<{
  id: string
  kind: IdentityKind
  display_name: string
  created_at: number
  expires_at: number | null
  listed: boolean
  token_digest?: string
}>({
  fields: is.object(
    'identity',
    {
      id: is.identityId,
      kind: { enum: identityKinds },
      display_name: { type: 'string', maxLength: 80 },
      created_at: is.time,
      expires_at: timeOrNull,
      listed: is.flag,
      token_digest: { type: 'string', pattern: '^[a-f0-9]{32}$' },
    },
    ['token_digest'],
  ),
  count: ({ identities }) => identities.count,
  line({ state: { identities }, hasTokens }, number) {
    const { createdAt, expiresAt } = identities.actors.columns
    const digest = identities.tokens.digest(number)
    const hasDigest = hasTokens && digest !== hexOf(identities.id(number))
    return (
      `{"identity":{"id":"${identities.id(number)}","kind":"${identities.kind(number)}",` +
      `"display_name":${identities.nameJson(number)},"created_at":${createdAt.get(number)},` +
      `"expires_at":${expiresAt.get(number) || null},"listed":${identities.isListed(number)}` +
      `${hasDigest ? `,"token_digest":"${digest}"` : ''}}}`
    )
  },
  add({ state }, fields) {
    const { kind, display_name: displayName, listed, created_at: at } = fields
    const id = hexOf(fields.id)
    // Nobody can find a token whose SHA-256 begins with the random id.
    const { token_digest: tokenDigest = id } = fields
    if (state.identities.findNamed(fields.id) !== -1) throw twice(fields.id)
    if (state.identities.tokens.find(tokenDigest) !== -1) throw twice(tokenDigest)
    if (kind === 'compat' && (listed || fields.token_digest !== undefined)) {
      throw new BadLine('a compat identity has no token')
    }
    const expiresAt = fields.expires_at ?? 0
    const record = { id, kind, displayName, tokenDigest, expiresAt, at, listed }
    return addIdentity(state, state.position, record)
  },
})
