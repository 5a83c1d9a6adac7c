// The documents with generated sections, by their path from the top of the project.

import { actorTable, recordTable } from './architecture-tables.ts'
import type { Section } from './generated.ts'
import { interfaceSections } from './interface-tables.ts'
import { operatingSections } from './operating-tables.ts'

export const pages: Record<string, Record<string, Section>> = {
  'ARCHITECTURE.md': { records: recordTable, actors: actorTable },
  'docs/interface.md': interfaceSections,
  'docs/operating.md': operatingSections,
}
