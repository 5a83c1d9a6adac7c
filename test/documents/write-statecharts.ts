// Writes docs/statecharts.md from the machines: node dist/test/documents/write-statecharts.js

import { writeFileSync } from 'node:fs'
import { roleKind } from '../../src/engine/role/role.ts'
import { actorKinds } from '../../src/forum/kinds.ts'
import { statechartsPage } from './statecharts.ts'

writeFileSync(
  'docs/statecharts.md',
  statechartsPage([...actorKinds, roleKind].map(({ machine }) => machine)),
)
