import t from 'tap'
import {
  checkedAddresses,
  isPublic,
  publicResolve,
  refuseEndpoint,
} from '../../../src/forum/webhooks/address.ts'

const rules = { allowPrivate: false, ownHost: 'forum.example.org' }
const lab = { ...rules, allowPrivate: true }

const allowed = [
  'https://example.com',
  'https://example.com/',
  'https://example.com:443/hook',
  'https://EXAMPLE.com/Hook/a%20b/c;d=e',
  'HTTPS://hooks.example.com./x',
  'https://xn--bcher-kva.example.com/',
  'https://a_b.example.com/',
]

const refused: Record<string, string[]> = {
  'begin with https': ['http://example.com/', 'ftp://example.com', 'example.com', '//example.com'],
  ASCII: [
    '',
    ' https://example.com',
    'https://example.com/a b',
    'https://bücher.example/',
    'https://exa\tmple.com/',
    'https://example.com/\n',
  ],
  'user name': [
    'https://ana@example.com/',
    'https://ana:x@example.com/',
    'https://@example.com/',
    'https:///ana:x@example.com/',
    'https:////ana@example.com/hook',
    'https:///:x@example.com/',
  ],
  'query, fragment': [
    'https://example.com/?',
    'https://example.com/?a=b',
    'https://example.com/#',
    'https://example.com/#a',
    'https://example.com\\@evil.example',
  ],
  'not a valid': [
    'https:///@example.com/',
    'https:///example.com/',
    'https://',
    'https:///',
    'https://exa%20mple.com/',
    'https://1.2.3.256/',
  ],
  'port 443': ['https://example.com:444/', 'https://example.com:80/', 'https://example.com:8443'],
  'not give an address': [
    'https://127.0.0.1/',
    'https://93.184.216.34/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://1%32%37.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[2606:2800:220:1::1]/',
  ],
  'public host name': [
    'https://localhost/',
    'https://LOCALHOST./',
    'https://intranet/',
    'https://printer.local/',
    'https://a.localhost/',
    'https://metadata.google.internal/',
    'https://nas.home.arpa/',
    'https://a..example.com/',
    `https://${'a'.repeat(64)}.example.com/`,
    `https://${'a.'.repeat(140)}com/`,
    'https://exa!mple.com/',
  ],
  'this service': ['https://forum.example.org/', 'https://FORUM.example.org./hook'],
}

t.test('endpoint: a public https URL: registered: accepted', async (t) => {
  for (const url of allowed) t.equal(refuseEndpoint(url, rules), null, url)
})

t.test('endpoint: a URL against the rules: registered: the reason is named', async (t) => {
  for (const [reason, urls] of Object.entries(refused)) {
    for (const url of urls) {
      t.match(refuseEndpoint(url, rules) ?? 'allowed', reason, url)
    }
  }
})

t.test(
  'endpoint: in a lab: any host and port, but https and nothing else in the URL',
  async (t) => {
    const labUrls = ['https://127.0.0.1:8443/x', 'https://localhost', 'https://[::1]:1/']
    for (const url of [...labUrls, ...allowed, 'https://forum.example.org/']) {
      t.equal(refuseEndpoint(url, lab), null, url)
    }
    for (const reason of ['begin with https', 'ASCII', 'user name', 'query, fragment']) {
      for (const url of refused[reason]) t.match(refuseEndpoint(url, lab) ?? 'allowed', reason, url)
    }
  },
)

const publicAddresses = [
  ...['1.1.1.1', '8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.15.0.1'],
  ...['172.32.0.0', '169.253.1.1', '192.0.1.1', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2606:2800:220:1:248:1893:25c8:1946', '2a00:1450::1', '2001:4860:4860::8888', '2003::1'],
]

const otherAddresses = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.255', '169.254.169.254', '172.16.0.1', '172.31.255.255'],
  ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255'],
  ...['198.51.100.7', '203.0.113.7', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1'],
  ...['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1', '100::1', 'fc00::1', 'fd12::1'],
  ...['fe80::1', 'febf::1', 'fec0::1', 'ff02::1', '2001::1', '2001:2::1', '2001:10::1'],
  ...['2001:20::1', '2001:db8::1', '2002:7f00:1::1', '2002:808:808::1', '3fff::1', '5f00::1'],
  ...['4000::1', 'not an address', ''],
]

t.test('address: public or special: classified: distinguished', async (t) => {
  for (const address of publicAddresses) t.equal(isPublic(address), true, address)
  for (const address of otherAddresses) t.equal(isPublic(address), false, address)
})

t.test('name: one of its addresses is private: resolved: none is used', async (t) => {
  const mix = async () => ['93.184.216.34', '10.0.0.1', '2606:2800:220:1::1']
  t.equal(await checkedAddresses('a.example', rules, mix), 'nonpublic_webhook_address')
  t.same(await checkedAddresses('a.example', lab, mix), await mix())
})

t.test('name: public addresses: resolved: all of them', async (t) => {
  const two = async () => ['93.184.216.34', '2606:2800:220:1::1']
  t.same(await checkedAddresses('a.example', rules, two), await two())
})

t.test('name: without addresses, or unknown: resolved: dns_lookup_failed', async (t) => {
  const none = async () => []
  const unknown = () => Promise.reject(new Error('ENOTFOUND'))
  for (const resolve of [none, unknown]) {
    t.equal(await checkedAddresses('a.example', rules, resolve), 'dns_lookup_failed')
    t.equal(await checkedAddresses('a.example', lab, resolve), 'dns_lookup_failed')
  }
})

t.test('name: that can never exist: resolved: no addresses, no error', async (t) => {
  t.same(await publicResolve(300)('nobody.invalid'), [])
})
