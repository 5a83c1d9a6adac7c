// The last step of `npm ci` in a clone: removes what was installed for other machines, 130 MB of
// 440, because the packages that are needed do not leave it out.
//
//   uws-pack         bindings of uWebSockets.js for each system, processor and version of Node
//   @libsql/…-musl   a search engine for machines whose C library is musl
//
// A missing binding is not an error: Node's own HTTP server then serves
// (src/edge/http/uws-binding.ts).

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { top } from './parts.ts'

const modules = join(top, 'node_modules')
/** `process.versions.modules` of Node 20 and 22, the only versions with bindings. */
const abis = ['115', '127']

const own = abis.map((abi) => `uws_${process.platform}_${process.arch}_${abi}.node`)
const bindings = join(modules, 'uws-pack/dist/bin')
for (const name of readdirSync(bindings)) {
  if (name.endsWith('.node') && !own.includes(name)) rmSync(join(bindings, name))
}

/** Node reports the version of the GNU C library only if it runs with that library. */
const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
if (header.glibcVersionRuntime !== undefined) {
  rmSync(join(modules, `@libsql/linux-${process.arch}-musl`), { recursive: true, force: true })
}
