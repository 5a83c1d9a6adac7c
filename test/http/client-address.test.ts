import t from 'tap'
import { clientAddress, readAddress } from '../../src/http/client-address.ts'
import type { Exchange } from '../../src/http/exchange.ts'

const proxy = '127.0.0.1'

function given(remoteAddress: string, headers: Record<string, string>): Exchange {
  const header = (name: string) => headers[name] ?? ''
  return { remoteAddress, header, allOf: header } as Exchange
}

t.test('caller: no trusted proxy: forwarding headers say another: the socket counts', async (t) => {
  const exchange = given('198.51.100.7', {
    'x-forwarded-for': '203.0.113.1',
    'cf-connecting-ip': '203.0.113.2',
  })
  t.equal(clientAddress(exchange, false), '198.51.100.7')
})

const forwarded: [string, string, string][] = [
  ['one hop', '203.0.113.1', '203.0.113.1'],
  ['a forged hop before it', '1.1.1.1, 203.0.113.1', '203.0.113.1'],
  ['private and loopback hops after it', '203.0.113.1, 10.0.0.3,192.168.1.1 , ::1', '203.0.113.1'],
  ['172.16/12 is private', '203.0.113.1, 172.31.255.255', '203.0.113.1'],
  ['172.32 is not', '203.0.113.1, 172.32.0.1', '172.32.0.1'],
  ['mapped private hop', '203.0.113.1, ::ffff:10.0.0.3', '203.0.113.1'],
  ['unique local and link-local', '2001:db8::5, fd00::1, fe80::1%eth0', '2001:db8::5'],
  ['ports', '203.0.113.1:4711, [fd00::1]:443', '203.0.113.1'],
  ['an IPv6 caller with a port', '[2001:DB8:0::9]:443', '2001:db8::9'],
  ['garbage after it', '203.0.113.1, unknown, , "x"', '203.0.113.1'],
  ['garbage only', 'unknown, 999.1.1.1, 203.0.113', proxy],
  ['trusted hops only', '10.1.2.3', proxy],
  ['nothing', '', proxy],
]
for (const [what, header, expected] of forwarded) {
  t.test(`caller: behind a trusted proxy: ${what}: ${expected}`, async (t) => {
    t.equal(clientAddress(given(proxy, { 'x-forwarded-for': header }), true), expected)
  })
}

t.test('caller: behind Cloudflare: both headers: CF-Connecting-IP wins', async (t) => {
  const headers = { 'x-forwarded-for': '203.0.113.1', 'cf-connecting-ip': '203.0.113.2' }
  t.equal(clientAddress(given(proxy, headers), true), '203.0.113.2')
  const garbage = { ...headers, 'cf-connecting-ip': 'nobody' }
  t.equal(clientAddress(given(proxy, garbage), true), '203.0.113.1')
})

t.test('address: several spellings: one is kept', async (t) => {
  t.equal(readAddress('0000:0000:0000:0000:0000:0000:0000:0001'), '::1')
  t.equal(readAddress('0000:0000:0000:0000:0000:ffff:7f00:0001'), '127.0.0.1')
  t.equal(readAddress('::ffff:203.0.113.9'), '203.0.113.9')
  t.equal(readAddress('2001:DB8::A'), '2001:db8::a')
  t.equal(readAddress('127.1'), null)
  t.equal(readAddress('1.2.3.4:'), null)
})
