// Settings of a node whose log is replicated: the servers of the stream, and the node's part in it.

import { readFileSync } from 'node:fs'
import type { Flag } from '../base/arguments.ts'
import { ConfigError } from '../base/arguments.ts'
import { numberOf, type Setting } from '../base/values.ts'
import { certificateOf, type FoundSetting, switchOf, textOf } from './settings.ts'

export type ReplicationConfig = NonNullable<ReturnType<typeof replicationOf>>

const presets = { stream: 'agent-forum', replicas: '3', takeover: '5' }

export const replicationFlags = {
  replicate: {
    value: 'URLS',
    preset: '',
    help: 'lead, and keep the log on NATS JetStream as well: at nats://HOST:PORT[,…]',
  },
  follow: {
    value: 'URLS',
    preset: '',
    help: 'follow the leader by the stream at nats://HOST:PORT[,…]: answer reads, pass writes on',
  },
  standby: {
    value: null,
    preset: 'off',
    help: 'lead when the leader is gone; with --replicate: follow when another node leads',
  },
  'takeover-seconds': {
    value: 'S',
    preset: presets.takeover,
    help: 'how long a standby waits for a sign of life of the leader; the same on all nodes',
  },
  'replicate-stream': {
    value: 'NAME',
    preset: presets.stream,
    help: 'name of the stream, and prefix of the names of its buckets',
  },
  'replicate-replicas': {
    value: 'N',
    preset: presets.replicas,
    help: 'how many servers keep a copy: 1, 3 or 5',
  },
  'begin-stream': {
    value: 'POSITION',
    preset: '',
    help: 'publish the log of this node, which ends there, to a stream that has lost its messages',
  },
  'replicate-credentials': {
    value: 'FILE',
    preset: '',
    help: 'file of credentials for the servers: NAME.creds, as nsc writes it, or USER:PASSWORD',
  },
  'replicate-ca': {
    value: 'FILE',
    preset: '',
    help: 'PEM file of the authority that signs the certificates of the servers',
  },
  'replicate-cert': {
    value: 'FILE',
    preset: '',
    help: 'PEM file of the certificate of this node, with --replicate-key',
  },
  'replicate-key': {
    value: 'FILE',
    preset: '',
    help: 'PEM file of the key of that certificate',
  },
} as const satisfies Record<string, Flag & { preset: string }>

type ReplicationFlagName = keyof typeof replicationFlags

const takeoverSecondsMax = 600
const namePattern = /^[A-Za-z0-9_-]{1,64}$/

/** Returns the settings of replication, or null on a standalone node. Throws a ConfigError. */
export function replicationOf(setting: (name: ReplicationFlagName) => FoundSetting) {
  const [lead, follow, standby] = [setting('replicate'), setting('follow'), setting('standby')]
  for (const { name, text, from } of [lead, follow]) {
    // Most often a shell variable that is not set: such a node would have no copies. In the file an
    // empty text is the default written out.
    const isFlagOrVariable = from === name
    if (text !== '' || !isFlagOrVariable) continue
    throw new ConfigError(
      `${name} is empty: it takes URLs like nats://10.0.0.1:4222; a standalone node has ` +
        'neither --replicate nor --follow',
    )
  }
  const engine = lead.text !== '' ? lead : follow
  if (engine.text === '') return alone(setting)
  if (lead.text !== '' && follow.text !== '') {
    throw new ConfigError(`${lead.name} and ${follow.name} exclude each other`)
  }
  const begin = setting('begin-stream')
  if (begin.text !== '' && engine !== lead && !switchOf(standby)) {
    throw new ConfigError(`${begin.name} needs --replicate or --standby`)
  }
  return {
    /** URLs of the servers that carry the stream: `nats://host:port` or `tls://host:port`. */
    servers: serversOf(engine),
    /** Whether the node leads; otherwise it follows. */
    leads: engine === lead,
    /** Whether the node leads when the leader is gone, and follows when another one leads. */
    isStandby: switchOf(standby),
    /** The position at which the log must end that the operator wants to publish; null: none. */
    beginAt: begin.text === '' ? null : numberOf(begin, 0, Number.MAX_SAFE_INTEGER),
    /** The name of the stream, and the prefix of the names of its buckets. */
    stream: streamOf(setting('replicate-stream')),
    /** The number of servers that keep a copy. */
    replicas: replicasOf(setting('replicate-replicas')),
    /** The content of a NATS credentials file, or `USER:PASSWORD`, or null. */
    credentials: fileOf(setting('replicate-credentials')),
    /** PEM of the certificate authority, and of this node's certificate and key. */
    tls: tlsOf(setting),
    /** How long a standby waits for a sign of the leader before it tries to lead. */
    takeoverMs: numberOf(setting('takeover-seconds'), 1, takeoverSecondsMax) * 1000,
  }
}

/** Refuses settings without an effect, which would be mistakes that go unnoticed. */
function alone(setting: (name: ReplicationFlagName) => Setting): null {
  for (const name of Object.keys(replicationFlags) as ReplicationFlagName[]) {
    const found = setting(name)
    if (found.text === replicationFlags[name].preset) continue
    if (name === 'standby' && !switchOf(found)) continue
    throw new ConfigError(`${found.name} needs --replicate or --follow`)
  }
  return null
}

function serversOf({ name, text }: Setting): string[] {
  return text.split(',').map((part) => {
    const url = URL.canParse(part.trim()) ? new URL(part.trim()) : null
    const isServer =
      url !== null && /^(?:nats|tls):$/.test(url.protocol) && url.host !== '' && url.pathname === ''
    if (!isServer) {
      throw new ConfigError(`${name} takes URLs like nats://10.0.0.1:4222, not "${part.trim()}"`)
    }
    // Command lines and --print-config would show them.
    if (url.username !== '' || url.password !== '') {
      throw new ConfigError(`${name} takes no passwords; see --replicate-credentials`)
    }
    return `${url.protocol}//${url.host}`
  })
}

function streamOf(setting: Setting): string {
  const text = textOf(setting)
  if (namePattern.test(text)) return text
  throw new ConfigError(`${setting.name} takes letters, digits, - and _, not "${text}"`)
}

function replicasOf(setting: Setting): number {
  const replicas = numberOf(setting, 1, 5)
  if (replicas % 2 === 1) return replicas
  throw new ConfigError(`${setting.name} takes 1, 3 or 5, not "${setting.text}"`)
}

function tlsOf(setting: (name: ReplicationFlagName) => Setting) {
  const [cert, key] = [setting('replicate-cert'), setting('replicate-key')]
  const tls = {
    ca: certificateOf(setting('replicate-ca')),
    cert: certificateOf(cert),
    key: fileOf(key),
  }
  if ((tls.cert === null) !== (tls.key === null)) {
    throw new ConfigError(`${cert.name} and ${key.name} go together`)
  }
  return tls.ca === null && tls.cert === null ? null : tls
}

function fileOf({ name, text }: Setting): string | null {
  if (text === '') return null
  try {
    return readFileSync(text, 'utf8')
  } catch (error) {
    throw new ConfigError(`${name} takes a file that can be read: ${(error as Error).message}`)
  }
}
