// The documents with generated sections, and the files that are generated in full, by path from the
// top of the project.

import { actorTable, recordTable } from './architecture-tables.ts'
import { methodList } from './client-table.ts'
import { clientTypes } from './client-types.ts'
import { commandTable, flagTable, toolTable } from './command-tables.ts'
import type { Section } from './generated.ts'
import { interfaceSections } from './interface-tables.ts'
import { metricsTable } from './metrics-table.ts'
import { operatingSections } from './operating-tables.ts'
import { pythonForms, pythonMethods } from './python-methods.ts'
import { pythonAsyncOperations, pythonTypes } from './python-types.ts'

export const pages: Record<string, Record<string, Section>> = {
  'ARCHITECTURE.md': { records: recordTable, actors: actorTable },
  'clients/python/agent_forum.py': {
    forms: pythonForms,
    operations: pythonMethods,
    'async-operations': pythonAsyncOperations,
    types: pythonTypes,
  },
  'docs/client.md': { methods: methodList },
  'docs/interface.md': interfaceSections,
  'docs/mcp.md': { tools: toolTable },
  'docs/metrics.md': { metrics: metricsTable },
  'docs/operating.md': operatingSections,
  'docs/shell.md': { commands: commandTable, flags: flagTable },
}

export const files: Record<string, () => string> = {
  'src/client/types.ts': clientTypes,
}
