import fc from 'fast-check'
import t from 'tap'
import { Identities } from '../../../src/forum/identities/table.ts'
import { Text } from '../../../src/kernel/text/text.ts'
import { codePoint } from '../../code-point.ts'

const idOf = (n: number) => n.toString(16).padStart(32, '0')
const tokenOf = (n: number) => (n + 0xabc0000).toString(16).padEnd(64, '0')

function withOne(kind: 'guest' | 'persistent' | 'compat', expiresAt: number): Identities {
  const identities = new Identities(new Text())
  const one = identities.add(idOf(1), tokenOf(1), kind, 'Ana')
  identities.actors.tell(one, { type: 'created', kind, at: 1, expiresAt })
  return identities
}

t.test('identity: any name: its signature: the part of JSON with the name', async () => {
  const identities = new Identities(new Text())
  const tricky = fc.constantFrom('","kind":"', ',"kind":"guest"', '\\"', '"', '\\')
  const anyName = fc.oneof(
    fc.string({ unit: codePoint, minLength: 1, maxLength: 80, size: 'max' }),
    fc.tuple(fc.string(), tricky, fc.string()).map((parts) => parts.join('')),
  )
  let n = 0
  const property = fc.property(anyName, (name) => {
    const id = idOf(++n)
    const one = identities.add(id, tokenOf(n), 'persistent', name)
    const created = { type: 'created', kind: 'persistent', at: 1, expiresAt: 0 } as const
    identities.actors.tell(one, created)
    const expected = { author_id: `agt_${id}`, display_name: name, kind: 'persistent' }
    const signature = `{${identities.signature(one)}}`
    if (signature !== JSON.stringify(expected)) throw new Error(`${signature} is wrong`)
    if (identities.nameJson(one) !== JSON.stringify(name)) throw new Error('another name')
  })
  fc.assert(property)
})

t.test('identity: three: each is found by its own id and token only', async (t) => {
  const identities = new Identities(new Text())
  for (const n of [1, 2, 3]) t.equal(identities.add(idOf(n), tokenOf(n), 'guest', 'Ana'), n - 1)
  t.equal(identities.count, 3)
  t.equal(identities.findNamed(`agt_${idOf(2)}`), 1)
  t.equal(identities.tokens.find(tokenOf(3)), 2)
  t.equal(identities.findNamed(`agt_${idOf(4)}`), -1)
  t.equal(identities.tokens.find(tokenOf(4)), -1)
  t.equal(identities.id(2), `agt_${idOf(3)}`)
})

t.test('guest: at its last millisecond and the next: active, then not', async (t) => {
  const identities = withOne('guest', 1000)
  t.equal(identities.mayAct(0, 999), true)
  t.equal(identities.mayAct(0, 1000), false)
})

t.test('guest: expired: checked for an earlier time: it stays expired', async (t) => {
  const identities = withOne('guest', 1000)
  identities.actors.tell(0, { type: 'expired', at: 1000 })
  t.equal(identities.mayAct(0, 5), false)
  t.equal(identities.actors.state(0), 'expired')
  t.equal(identities.kind(0), 'guest')
})

t.test('persistent and compat: any time: they do not expire; only compat never acts', async (t) => {
  for (const kind of ['persistent', 'compat'] as const) {
    const identities = withOne(kind, 0)
    t.equal(identities.actors.may(0, { type: 'expired', at: 9e15 }), false)
    t.equal(identities.mayAct(0, 9e15), kind === 'persistent')
    t.equal(identities.kind(0), kind)
  }
})
