// Input from callers is read in time proportional to its length, whatever is repeated in it.

import { BlockList } from 'node:net'
import t from 'tap'
import { misspelledFields } from '../../../src/base/misspelled-fields.ts'
import { AgentForum } from '../../../src/client/index.ts'
import { isNamed } from '../../../src/edge/api/etag.ts'
import { clientAddress } from '../../../src/edge/http/client-address.ts'
import { crossSite, hostOrigin } from '../../../src/edge/http/cross-site.ts'
import * as parse from '../../../src/edge/http/parse.ts'
import { isPathAllowed } from '../../../src/forum/governance/commands.ts'
import { readTicket } from '../../../src/forum/tickets/commands.ts'
import { refuseEndpoint } from '../../../src/forum/webhooks/address.ts'
import { isLinear, timeOf, times } from '../../linear.ts'
import { FakeExchange } from './fake-exchange.ts'

const proxies = new BlockList()
proxies.addSubnet('10.0.0.0', 8, 'ipv4')
const known = [{ name: 'limit', isNumber: true }]
const withHeader = (name: string, value: string) => new FakeExchange('get', '/', { [name]: value })
const misspelled = misspelledFields(['display_name'])

const readers: Record<string, (text: string) => unknown> = {
  originForm: parse.originForm,
  parseQuery: (text) => parse.parseQuery(text, known, {}),
  unknownOrRepeated: (text) => parse.unknownOrRepeated(text, known),
  malformed: parse.malformed,
  parseBearer: parse.parseBearer,
  isJson: parse.isJson,
  parseBody: parse.parseBody,
  isNamed: (text) => isNamed('"a"', text),
  prefersHtml: (text) => parse.prefersHtml(`text/html,${text}`),
  hops: (text) => {
    const exchange = withHeader('x-forwarded-for', text)
    return clientAddress(exchange, { header: 'x-forwarded-for', hops: 2 })
  },
  proxies: (text) => {
    const exchange = withHeader('x-forwarded-for', text)
    return clientAddress(exchange, { header: 'x-forwarded-for', proxies })
  },
  origin: (text) => crossSite(withHeader('origin', text), new Set(), null),
  purpose: (text) => crossSite(withHeader('purpose', text), new Set(), null),
  host: (text) => hostOrigin(withHeader('host', text)),
  refuseEndpoint: (text) => refuseEndpoint(text, { allowPrivate: false, ownHost: 'a.example' }),
  isPathAllowed,
  readTicket: (text) => readTicket(Buffer.alloc(32), text),
  misspelled: (text) => misspelled({ [text]: 1 }),
  client: (text) => new AgentForum({ url: `http://a${text}` }),
}

const starts = ['', 'https://', 'http://a/', 'Bearer ', 'limit=', '{"a":"', 'https://a.example/']
const units = [
  ',',
  ';',
  ' ',
  '.',
  '. ',
  '/',
  '&',
  '&a',
  '=',
  '%',
  '%41',
  '+',
  'a',
  '-',
  ':',
  '1',
  '[',
]
units.push('"', '\\u00', 'W/', '10.0.0.1,', 'a=b&', '{"":', 'prefetch', '\t', '@', 'a.', '?')

/** If 16,000 characters take less than this, no closer measurement is needed. */
const shortUs = 2_000

for (const [name, read] of Object.entries(readers)) {
  t.test(`${name}: any repetition, 16 times as long: takes about 16 times as long`, async (t) => {
    for (const start of starts) {
      for (const unit of units) {
        const of = (length: number) => `${start}${unit.repeat(length / unit.length)}x`
        const texts = new Map([4_000 / times, times * 4_000].map((length) => [length, of(length)]))
        const work = (length: number) => quietly(() => read(texts.get(length)!))
        const isShort = timeOf(work, times * 4_000) < shortUs
        t.ok(isShort || isLinear(work, 4_000), JSON.stringify([start, unit]))
      }
    }
  })
}

function quietly(work: () => unknown): void {
  try {
    work()
  } catch {} // an input may be refused by an exception
}

t.test('lists in headers: as much is read as anybody sends, and no more', async (t) => {
  t.ok(isNamed('"a"', `${'"b",'.repeat(15)}"a"`))
  t.notOk(isNamed('"a"', `${'"b",'.repeat(16)}"a"`))
  t.ok(parse.prefersHtml(`${'a/b,'.repeat(31)}text/html`))
  t.notOk(parse.prefersHtml(`${'a/b,'.repeat(32)}text/html`))
  const trust = { header: 'x-forwarded-for', proxies } as const
  const of = (text: string) => clientAddress(withHeader('x-forwarded-for', text), trust)
  t.equal(of(`192.0.2.1${', 10.0.0.1'.repeat(90)}`), '192.0.2.1')
  t.equal(of(`192.0.2.1${', 10.0.0.1'.repeat(1_000)}`), '127.0.0.1', 'that of the connection')
})
