// Writes everything that is generated, sections of documents and whole files:
// node dist/test/documents/write-generated.js

import { readFileSync, writeFileSync } from 'node:fs'

import { regenerate } from './generated.ts'
import { files, pages } from './pages.ts'

for (const [path, sections] of Object.entries(pages)) {
  writeFileSync(path, regenerate(readFileSync(path, 'utf8'), sections))
}
for (const [path, write] of Object.entries(files)) writeFileSync(path, write())
