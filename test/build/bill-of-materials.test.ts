// The bill of materials of a release names everything that a release contains.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { billOfMaterials } from '../../build/bill-of-materials.ts'

const top = join(import.meta.dirname, '../../..')

t.test('bill of materials: has all third-party software, and the Node; twice the same', (t) => {
  const bill = billOfMaterials('24.1.0')
  t.match(bill, { bomFormat: 'CycloneDX', specVersion: /^1\.\d$/ })
  const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  t.match(bill.metadata.component, { type: 'application', name: 'agent-forum', version })
  const named = new Set(bill.components.map(({ name, version }) => `${name} ${version}`))
  const list = readFileSync(join(top, 'dist/agent-forum/THIRD-PARTY'), 'utf8')
  const contained = Array.from(list.matchAll(/^ {2}(\S+ \S+) +\S/gm), ([, part]) => part!)
  t.ok(contained.length > 30)
  t.same(
    contained.filter((part) => !named.has(part)),
    [],
  )
  t.ok(named.has('node 24.1.0'))
  t.notOk(named.has('tap 21.8.0'), 'nothing that only tests')
  const server = bill.dependencies.find(({ ref }) =>
    ref.startsWith('@modelcontextprotocol/server@'),
  )
  t.match(server?.dependsOn.toString(), /@modelcontextprotocol\/core@.*zod@/)
  t.same(billOfMaterials('24.1.0'), bill)
  t.end()
})
