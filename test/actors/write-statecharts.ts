// Writes docs/statecharts.md from the machines: node dist/test/actors/write-statecharts.js

import { writeFileSync } from 'node:fs'
import { actorKinds, statechartsPage } from '../../src/actors/kinds.ts'
import { roleKind } from '../../src/role/role.ts'

writeFileSync(
  'docs/statecharts.md',
  statechartsPage([...actorKinds, roleKind].map(({ machine }) => machine)),
)
