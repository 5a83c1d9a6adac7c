// Writes the generated sections of the documents: node dist/test/documents/write-generated.js

import { readFileSync, writeFileSync } from 'node:fs'

import { regenerate } from './generated.ts'
import { pages } from './pages.ts'

for (const [path, sections] of Object.entries(pages)) {
  writeFileSync(path, regenerate(readFileSync(path, 'utf8'), sections))
}
