// Run by `npm run build`: writes the functions that the routes' schemas are compiled to, so that no
// start compiles one.

import { writeFileSync } from 'node:fs'
import { compiledFile, moduleOfRequested } from '../api/compiled-schemas.ts'
import { routes } from '../api/routes.ts'
import { Meter } from './meter.ts'
import { prepare } from './prepared-route.ts'

const meter = new Meter()
for (const route of routes) prepare(route, meter)
writeFileSync(compiledFile, moduleOfRequested())
