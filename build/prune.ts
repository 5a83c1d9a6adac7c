// The last step of `npm ci` in a clone: removes what was installed for other machines, 240 MB of
// 540, because the packages that are needed do not leave it out.
//
//   uws-pack, @btc-vision/…   bindings of uWebSockets.js for each system, processor and version of
//                             Node; on an older GNU C library all of those for Node 24
//   @libsql/…-musl            a search engine for machines whose C library is musl
//
// A missing binding is not an error: Node's own HTTP server then serves
// (src/edge/http/uws-binding.ts).

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bindingFile, glibcVersion, repackagings, unsuited } from '../src/edge/http/uws-binding.ts'
import { top } from './parts.ts'

const modules = join(top, 'node_modules')
for (const packed of repackagings) {
  const own = unsuited(packed) === null ? packed.abis.map(bindingFile) : []
  const folder = join(modules, packed.name, packed.folder)
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.node') && !own.includes(name)) rmSync(join(folder, name))
  }
}

if (glibcVersion() !== null) {
  rmSync(join(modules, `@libsql/linux-${process.arch}-musl`), { recursive: true, force: true })
}
