// The usual alternative: Fastify and PostgreSQL (web.ts), with the same identities, threads and
// messages, so that it receives the same requests as the forum.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../test/free-port.ts'
import { contentOf, type Population } from '../population.ts'
import { startDaemon, startServer } from '../process.ts'
import { type PeerKind, peersFolder } from './peer.ts'

const debianVersions = '/usr/lib/postgresql'
const user = 'bench'
const startMs = 20_000
const pageMessages = 50

const schema = `
create table identities (
  id bigserial primary key,
  public_id text not null unique,
  token_digest bytea not null unique,
  display_name text not null
);
create table threads (
  id bigserial primary key,
  public_id text not null unique,
  author bigint not null references identities,
  title text not null,
  visibility text not null,
  created_at bigint not null
);
create table messages (
  seq bigserial primary key,
  public_id text not null,
  thread bigint not null references threads,
  author bigint not null references identities,
  content text not null,
  created_at bigint not null,
  key text not null,
  unique (author, key)
);
create index on messages (thread, seq);
create table subscriptions (
  identity bigint not null references identities,
  thread bigint not null references threads,
  primary key (identity, thread)
);
`

export const postgres: PeerKind = {
  name: 'postgres',

  missing() {
    if (programs() === null) return 'postgresql'
    return existsSync(join(peersFolder, 'node_modules/fastify'))
      ? null
      : 'npm ci --prefix .ci/peers'
  },

  async start(parent, population, durability) {
    const database = await startDatabase(parent, durability)
    await fill(database.url, population)
    const web = await startServer([join(import.meta.dirname, 'web.js'), database.url])
    return {
      url: web.url,
      side: (_, sendHttp) => {
        return { ...sendHttp('postgres', web), pids: [web.pid, database.pid] }
      },
      async stop() {
        await web.stop()
        await database.stop()
      },
    }
  },
}

export interface Database {
  url: string
  pid: number
  /** Ends it as a crash would, and starts it again. Resolves when it has recovered. */
  crash(): Promise<void>
  /** Stops it, and removes its files. */
  stop(): Promise<void>
}

/** Starts PostgreSQL, without tables, in a new directory below `parent`. */
export async function startDatabase(parent: string, durability: string): Promise<Database> {
  const bin = programs()!
  const owner = ownerOfData()
  const dir = mkdtempSync(join(parent, 'postgres-'))
  if (owner !== null) chownSync(dir, owner.uid, owner.gid)
  execFileSync(
    join(bin, 'initdb'),
    ['-D', dir, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...owner, cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: `${port}`,
    synchronous_commit: durability === 'always' ? 'on' : 'off',
    shared_buffers: '512MB',
    // A checkpoint in the middle of a run would put PostgreSQL at a disadvantage.
    max_wal_size: '8GB',
    checkpoint_timeout: '1h',
    log_min_messages: 'panic',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = `postgres://${user}@127.0.0.1:${port}/postgres`
  const start = async () => {
    const daemon = startDaemon([join(bin, 'postgres'), '-D', dir, ...flags], owner ?? {})
    await (await connected(url)).end()
    return daemon
  }
  let daemon = await start()
  return {
    url,
    get pid() {
      return daemon.pid
    },
    async crash() {
      await daemon.stop('SIGQUIT') // ends all its processes at once, and leaves the log to replay
      daemon = await start()
    },
    async stop() {
      await daemon.stop('SIGINT') // does not wait for clients
      rmSync(dir, { recursive: true })
    },
  }
}

/** Returns the directory of PostgreSQL's programs, which Debian keeps out of PATH, or null. */
function programs(): string | null {
  const versions = existsSync(debianVersions) ? readdirSync(debianVersions) : []
  const [newest] = versions.sort((a, b) => Number(b) - Number(a))
  return newest === undefined ? null : join(debianVersions, newest, 'bin')
}

/** Returns another user for root, because PostgreSQL refuses to run as root. */
function ownerOfData(): { uid: number; gid: number } | null {
  if (process.getuid!() !== 0) return null
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function connected(url: string): Promise<pg.Client> {
  const begun = performance.now()
  for (;;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      return client
    } catch (error) {
      if (performance.now() - begun > startMs) throw error
      await sleep(100)
    }
  }
}

async function fill(url: string, { tokens, threads, longThreads, size }: Population) {
  const client = await connected(url)
  await client.query(schema)
  const all = [...new Set([...tokens, ...threads.flatMap((thread) => thread.tokens)])]
  const digests = all.map((token) => createHash('sha256').update(token).digest())
  await client.query(
    `insert into identities (public_id, token_digest, display_name)
     select 'agt_' || encode(substr(digest, 1, 16), 'hex'), digest, 'agent ' || n
     from unnest($1::bytea[]) with ordinality as t (digest, n)`,
    [digests],
  )
  const ids = [...new Set([...longThreads, ...threads.map(({ id }) => id)])]
  await client.query(
    `insert into threads (public_id, author, title, visibility, created_at)
     select id, n, 'Thread ' || n, 'public', 1790000000000
     from unnest($1::text[]) with ordinality as t (id, n)`,
    [ids],
  )
  await client.query(
    `insert into messages (public_id, thread, author, content, created_at, key)
     select 'msg_' || md5(random()::text), thread.id, 1 + (thread.id * 10 + n) % $1, $2,
            1790000000000, 'fill-' || thread.id || '-' || n
     from generate_series(1, $3::int) n, threads thread`,
    [all.length, contentOf(0, size.contentBytes), pageMessages],
  )
  await client.query('vacuum analyze')
  await client.end()
}
