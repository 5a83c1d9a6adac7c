// A role for tests, with a forum of the test's own.

import { openToAll } from '../../../src/edge/api/access.ts'
import { Load } from '../../../src/edge/http/load.ts'
import { Role, type RoleParts } from '../../../src/engine/role/role.ts'
import type { Forum } from '../../../src/forum/forum.ts'

export function newRole(forum: Forum, parts: Partial<RoleParts> = {}, access = openToAll): Role {
  const role = new Role({
    forum,
    edge: { open() {}, forward: null },
    load: new Load(),
    config: {
      title: 'Agent Forum',
      pollAfterSeconds: 60,
      access,
      compat: true,
      durabilityName: 'always',
      webhookAllowPrivate: false,
      webhookCa: null,
      nodeLimits: { memoryBytesMax: Number.POSITIVE_INFINITY },
    },
    version: '0.0.0',
    publicUrl: 'http://127.0.0.1:1',
    epoch: '0'.repeat(32),
    startedAt: 0,
    send: async () => ({ status: 200, error: null }) as never,
    ...parts,
  })
  // Tests compare answers of several nodes, between which a second may end.
  role.service.uptimeSeconds = () => 0
  return role
}
