// Run by `npm run build`: writes the functions to which the schemas of routes, pages and tools
// compile, so that no start compiles one.

import { writeFileSync } from 'node:fs'
import { urlOf } from '../base/program-files.ts'
import { compiledFile, moduleOfRequested } from '../edge/api/compiled-schemas.ts'
import { Meter } from '../edge/http/meter.ts'
import { prepare } from '../edge/http/prepared-route.ts'
import { withPages } from '../forum/pages.ts'
import { routes } from '../forum/routes.ts'
import '../clients/mcp/tools.ts'

const meter = new Meter()
for (const route of withPages(routes)) prepare(route, meter)
writeFileSync(urlOf(compiledFile), moduleOfRequested())
