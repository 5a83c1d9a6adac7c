// Run by `npm run build`: writes the functions to which the schemas of routes, pages and tools
// compile, so that no start compiles one.

import { writeFileSync } from 'node:fs'
import { compiledFile, moduleOfRequested } from '../api/compiled-schemas.ts'
import { routes } from '../api/routes.ts'
import { urlOf } from '../base/program-files.ts'
import { Meter } from '../http/meter.ts'
import { prepare } from '../http/prepared-route.ts'
import { withPages } from '../pages/pages.ts'
import '../mcp/tools.ts'

const meter = new Meter()
for (const route of withPages(routes)) prepare(route, meter)
writeFileSync(urlOf(compiledFile), moduleOfRequested())
