// Writes docs/statecharts.md from the machines: node dist/test/actors/write-statecharts.js

import { writeFileSync } from 'node:fs'

import { machines } from '../../src/actors/machines.ts'
import { statechartsPage } from '../../src/actors/statecharts.ts'

writeFileSync('docs/statecharts.md', statechartsPage(machines))
