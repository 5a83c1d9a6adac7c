// Settings for callers behind proxies and for pages of other origins.

import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../base/arguments.ts'
import { numberOf, originOf, type Setting } from '../base/values.ts'
import type { TrustProxy } from '../edge/http/client-address.ts'
import type { CorsOrigins } from '../edge/http/cors.ts'

/** The flags; `bare` is the value of a flag that is given without one. */
export const edgeFlags = {
  'trust-proxy': {
    value: '[HEADER]',
    bare: 'xff',
    choices: ['xff', 'cf-connecting-ip'],
    preset: 'off',
    help:
      'behind a proxy: the header that names the caller, xff (X-Forwarded-For; also without a ' +
      'value) or cf-connecting-ip',
  },
  'proxy-hops': {
    value: 'N',
    preset: '1',
    help: 'with xff: how many proxies append to it; the caller is its N-th entry from the right',
  },
  'trusted-proxies': {
    value: 'CIDRS',
    preset: '',
    help: 'with xff: networks of the proxies; the caller is the right-most entry in none of them',
  },
  'allowed-hosts': {
    value: 'HOSTS',
    preset: '',
    help:
      'host names, separated by commas, by which callers may reach the API, beside loopback ' +
      'names and that of --public-url; a request to another one is answered with 421; *: any; ' +
      'empty: no other name on a loopback address, unless --trust-proxy is given without ' +
      '--public-url, and any name elsewhere',
  },
  cors: {
    value: 'ORIGINS',
    preset: '',
    help: 'origins, separated by commas, whose pages may use the API from a browser; *: all',
  },
} as const

const hopsMax = 16

/** Returns how the caller's address is found behind proxies, or null if there are none. */
export function trustProxyOf(
  setting: (name: keyof typeof edgeFlags) => Setting,
): TrustProxy | null {
  const [hops, proxies] = [setting('proxy-hops'), setting('trusted-proxies')]
  const count = numberOf(hops, 1, hopsMax)
  const dependent = proxies.text !== '' ? proxies : count !== 1 ? hops : null
  const named = headerOf(setting('trust-proxy'))
  if (named !== 'xff') {
    if (dependent !== null) throw new ConfigError(`${dependent.name} needs --trust-proxy xff`)
    return named === null ? null : { header: 'cf-connecting-ip' }
  }
  if (proxies.text === '') return { header: 'x-forwarded-for', hops: count }
  if (count === 1) return { header: 'x-forwarded-for', proxies: networksOf(proxies) }
  throw new ConfigError(`${hops.name} and ${proxies.name} exclude each other`)
}

/** The flag was once a switch, so the values of a switch keep their meaning. */
export function headerOf({ name, text }: Setting): 'xff' | 'cf-connecting-ip' | null {
  if (text === 'xff' || text === 'cf-connecting-ip') return text
  if (['on', 'true', '1'].includes(text)) return 'xff'
  if (['off', 'false', '0', ''].includes(text)) return null
  throw new ConfigError(`${name} takes xff or cf-connecting-ip, not "${text}"`)
}

function networksOf({ name, text }: Setting): BlockList {
  const networks = new BlockList()
  for (const part of text.split(',')) {
    const [, address = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(part.trim()) ?? []
    const version = isIP(address)
    const bitsMax = version === 4 ? 32 : 128
    if (version === 0 || Number(bits ?? bitsMax) > bitsMax) {
      throw new ConfigError(`${name} takes networks like 10.0.0.0/8,2001:db8::/32, not "${text}"`)
    }
    const family = version === 4 ? 'ipv4' : 'ipv6'
    networks.addSubnet(address, Number(bits ?? bitsMax), family)
  }
  return networks
}

/** Returns the origins whose pages may use the API, or null for only the service's own. */
export function corsOf({ name, text }: Setting): CorsOrigins | null {
  if (text === '' || text === '*') return text === '' ? null : '*'
  return text.split(',').map((part) => originOf({ name, text: part.trim() }))
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

interface Reached {
  host: string
  publicUrl: string | null
  trustProxy: TrustProxy | null
}

/**
 * Returns the names by which callers may reach the API, in lower case, or null for any. A node on a
 * loopback address knows its names, unless it is behind a proxy and `--public-url` is not set.
 */
export function allowedHostsOf({ name, text }: Setting, { host, publicUrl, trustProxy }: Reached) {
  const knowsNames = loopbackHost.test(host) && (publicUrl !== null || trustProxy === null)
  if (text === '*' || (text === '' && !knowsNames)) return null
  const hosts = (text === '' ? [] : text.split(',')).map((part) => {
    const host = part.trim().toLowerCase()
    const url = `http://${host}`
    if (URL.canParse(url) && new URL(url).href === `${url}/`) return host
    throw new ConfigError(`${name} takes host names like forum.example, not "${part.trim()}"`)
  })
  return new Set(publicUrl === null ? hosts : [...hosts, new URL(publicUrl).hostname])
}
