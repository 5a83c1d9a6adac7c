// The address of a caller: that of the socket, or the one in the one trusted header.

import { BlockList } from 'node:net'
import t from 'tap'
import {
  clientAddress,
  readAddress,
  type TrustProxy,
} from '../../../src/edge/http/client-address.ts'
import type { Exchange } from '../../../src/edge/http/exchange.ts'

const proxy = '127.0.0.1'

function exchangeFrom(remoteAddress: string, headers: Record<string, string>): Exchange {
  const header = (name: string) => headers[name] ?? ''
  return { remoteAddress, header, allOf: header } as Exchange
}

function hops(hops: number): TrustProxy {
  return { header: 'x-forwarded-for', hops }
}

const proxies = new BlockList()
proxies.addSubnet('10.0.0.0', 8, 'ipv4')
proxies.addAddress('192.0.2.9', 'ipv4')
proxies.addSubnet('2001:db8:cd::', 48, 'ipv6')
const named: TrustProxy = { header: 'x-forwarded-for', proxies }

t.test('caller: no trusted proxy: forwarding headers say another: the socket counts', async (t) => {
  const exchange = exchangeFrom('198.51.100.7', {
    'x-forwarded-for': '203.0.113.1',
    'cf-connecting-ip': '203.0.113.2',
  })
  t.equal(clientAddress(exchange, null), '198.51.100.7')
})

const forwarded: [what: string, trust: TrustProxy, header: string, expected: string][] = [
  ['one proxy', hops(1), '203.0.113.1', '203.0.113.1'],
  ['one proxy, a forged entry before it', hops(1), '1.1.1.1, 203.0.113.1', '203.0.113.1'],
  ['one proxy, a private caller', hops(1), '10.1.2.3', '10.1.2.3'],
  ['one proxy, a private caller forges a public entry', hops(1), '8.8.8.8,10.1.2.3', '10.1.2.3'],
  ['one proxy, a private caller forges a loopback entry', hops(1), '8.8.8.8, ::1', '::1'],
  ['two proxies', hops(2), '203.0.113.1, 10.0.0.3', '203.0.113.1'],
  ['two proxies, forged entries', hops(2), '1.1.1.1, 2.2.2.2, 203.0.113.1, 9.9.9.9', '203.0.113.1'],
  ['two proxies, fewer entries', hops(2), '203.0.113.1', proxy],
  ['a mapped address', hops(1), '::ffff:203.0.113.1', '203.0.113.1'],
  ['ports', hops(2), '[2001:DB8:0::9]:443, 10.0.0.3:4711', '2001:db8::9'],
  ['an entry that is no address', hops(1), '203.0.113.1, unknown', proxy],
  ['no address at all', hops(1), 'unknown, 999.1.1.1, 203.0.113', proxy],
  ['a blank entry', hops(1), '203.0.113.1,', proxy],
  ['nothing', hops(1), '', proxy],
  ['named proxies', named, '203.0.113.1, 10.0.0.3, 192.0.2.9', '203.0.113.1'],
  ['named proxies, none of them', named, '203.0.113.1', '203.0.113.1'],
  ['named proxies, a forged entry', named, '1.1.1.1, 203.0.113.1, 10.255.0.1', '203.0.113.1'],
  ['named proxies, a private caller', named, '8.8.8.8, 192.168.1.1, 10.0.0.3', '192.168.1.1'],
  ['named proxies, IPv6', named, '2001:db8::5, 2001:db8:cd:1::1', '2001:db8::5'],
  ['named proxies, mapped', named, '203.0.113.1, ::ffff:10.0.0.3', '203.0.113.1'],
  ['named proxies, an unreadable caller', named, '1.1.1.1, unknown, 10.0.0.3', proxy],
  ['named proxies only', named, '10.1.2.3, 10.0.0.3', proxy],
]
for (const [what, trust, header, expected] of forwarded) {
  t.test(`caller: ${what}: ${header}: ${expected}`, async (t) => {
    const headers = { 'x-forwarded-for': header, 'cf-connecting-ip': '203.0.113.66' }
    t.equal(clientAddress(exchangeFrom(proxy, headers), trust), expected)
  })
}

t.test('caller: behind Cloudflare: its header counts, and no other', async (t) => {
  const trust: TrustProxy = { header: 'cf-connecting-ip' }
  const of = (value: string) =>
    exchangeFrom(proxy, { 'x-forwarded-for': '203.0.113.1', 'cf-connecting-ip': value })
  t.equal(clientAddress(of('203.0.113.2'), trust), '203.0.113.2')
  t.equal(clientAddress(of('2001:DB8::A'), trust), '2001:db8::a')
  for (const odd of ['nobody', '', '203.0.113.2,203.0.113.3']) {
    t.equal(clientAddress(of(odd), trust), proxy, odd)
  }
})

t.test('address: several spellings: one is kept', async (t) => {
  t.equal(readAddress('fe80::1%eth0'), 'fe80::1')
  t.equal(readAddress('[fe80::1%eth0]:443'), 'fe80::1')
  // If it has a zone, the library refuses an address of more than 39 characters.
  const long = '2001:0db8:0000:0000:0000:0001:192.168.100.200'
  t.equal(readAddress(long), '2001:db8::1:c0a8:64c8')
  t.equal(readAddress(`${long}%eth0`), '2001:db8::1:c0a8:64c8')
  t.equal(readAddress('0000:0000:0000:0000:0000:0000:0000:0001'), '::1')
  t.equal(readAddress('0000:0000:0000:0000:0000:ffff:7f00:0001'), '127.0.0.1')
  t.equal(readAddress('::ffff:203.0.113.9'), '203.0.113.9')
  t.equal(readAddress('2001:DB8::A'), '2001:db8::a')
  t.equal(readAddress('127.1'), null)
  t.equal(readAddress('1.2.3.4:'), null)
})
