// The jobs of npm test, npm run test:system and npm run test:deep, in the order in which they
// begin. A job is a process that runs one test file, or several of them (test/group.ts).
//
// `npm test` has what a change needs: every room, and the whole node as its callers see it. The
// system tests (`ofSystem`) are those that need another program (a browser, a proxy, a NATS server,
// an installed package), break the machine under a node, misuse the node, check a benchmark, or
// repeat suites in another environment. The deep run has both, and those of which it is enough that
// a release passes them (`onlyDeep`).
//
// A file that starts no process of its own often runs for a shorter time than it takes to start
// Node and to load tap and what the file imports, which is 0.3 to 0.5 s of processor time. So most
// of these files share a process with others (`shared`), and so do short files of the API, of
// commands and of clients, whose nodes are processes of their own.

import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { pluralize } from '../src/base/text.ts'
import { isDeep } from './depth.ts'

export interface Job {
  name: string
  /** Below test/. */
  files: readonly string[]
  environment: Readonly<Record<string, string>>
}

export const testsDirectory = import.meta.dirname

/**
 * What takes longest comes first, so that small jobs fill the gaps at the end. A name is the
 * beginning of those of files or of groups.
 */
const first = [
  ...[
    'clients/mcp/',
    'cli/archive', // waits for a minute
    'cluster/replication/fault',
    'cluster/replication/histories', // waits longer than it works, as its neighbours do
    'cluster/replication/nodes',
    'install',
    'people/reader',
    'readme',
    'simulate/',
    'soak/', // sleeps through most of its minute
  ],
  ...['forum/search/', 'clients/shell/', 'histories/', 'people/browser/dashboard'],
  ...[
    'group ',
    'faults/',
    'bench/',
    'api/',
    'people/browser/',
    'cluster/replication/',
    'wal/',
    'cli/',
  ],
  ...['client/', ''],
]

/** What the system tests run, and npm test does not. A name is the beginning of those of files. */
const ofSystem = [
  // Other programs: Chromium, nginx and caddy, nats-server, npm, Deno and Bun, clients of MCP,
  // systemd, git.
  ...['people/browser/', 'people/reader', 'people/payloads', 'faults/proxy', 'client/package'],
  ...[
    'client/agents',
    'client/python',
    'client/runtimes',
    'client/simulations',
    'clients/mcp/clients',
    'cli/forms',
    'cli/unprivileged',
  ],
  ...['build/', 'deploy/', 'install', 'readme', 'documents/webhook-receiver'],
  // Commands and servers of MCP, each a process of its own.
  ...['clients/shell/', 'cli/archive', 'cli/wal-command', 'cli/completion', 'cli/first-minute'],
  ...['clients/mcp/conversation', 'clients/mcp/endings', 'clients/mcp/setup'],
  ...['clients/mcp/identity', 'clients/mcp/place', 'clients/mcp/search', 'clients/mcp/triage'],
  ...[
    'cluster/replication/appends',
    'cluster/replication/claims',
    'cluster/replication/connect',
    'cluster/replication/engine-faults',
    'cluster/replication/expiry',
  ],
  ...[
    'cluster/replication/fault-matrix',
    'cluster/replication/histories',
    'cluster/replication/jetstream',
  ],
  ...[
    'cluster/replication/lead.',
    'cluster/replication/link',
    'cluster/replication/nats-cluster',
    'cluster/replication/nodes',
  ],
  ...[
    'cluster/replication/readers',
    'cluster/replication/server-files',
    'cluster/replication/stale-leader',
  ],
  // Swarms against a whole node, and a node with readers; in npm test fakes and fewer processes
  // do.
  ...[
    'clients/swarm/claims',
    'clients/swarm/feeds',
    'clients/swarm/mentions',
    'clients/swarm/searching',
    'clients/swarm/verify',
    'clients/swarm/waiting',
  ],
  'cluster/readers/readers',
  // Callers that misuse a node or exhaust it, and webhooks and checkpoints across kills.
  ...['api/checkpoints', 'api/guesses', 'api/hostile', 'api/limits', 'api/other-protocols'],
  ...['api/slow-clients', 'api/wakeups'],
  // Faults of the machine. Kills, old data and the simulation stay in npm test, and so do
  // the tests of the log, which find most of what a change breaks.
  ...['faults/backup', 'faults/batch-fails', 'faults/beyond-parity', 'faults/clock'],
  'faults/cold-text',
  ...['faults/crash-points', 'faults/damage-matrix', 'faults/erased-memory', 'faults/erasure'],
  ...['faults/expiry', 'faults/leftovers', 'faults/log-output', 'faults/moderation'],
  ...['faults/pid-namespaces', 'faults/readers', 'faults/real-disk', 'faults/rot'],
  ...['faults/restore', 'faults/retention', 'faults/shares', 'faults/unnamed-errors'],
  ...[
    'faults/worn-files',
    'forum/search/expiry',
    'forum/search/faults',
    'forum/search/followers',
    'forum/search/index',
    'forum/search/narrowed',
    'forum/search/sealed',
  ],
  ...['bench/', 'histories/node', 'soak/soak'],
]

/**
 * What only the deep run has. For each promise that one of these files checks, another file checks
 * it in npm test or among the system tests: with other means, or in a smaller world. For faults,
 * faults/pages.test.ts compares this with docs/faults.md. Each name is the beginning of file names.
 */
export const onlyDeep = [
  // Small runs of the benchmarks except for the scenarios, of which the tables are made.
  ...['bench/attacks', 'bench/batches', 'bench/claims', 'bench/cold', 'bench/latency'],
  'bench/peers',
  ...['bench/readers', 'bench/replication', 'bench/scale', 'bench/search'],
  // Damage to every file of a store, and nodes whose device wears out: wal/damage, wal/parity and
  // wal/checkpoints damage the same files, and faults/rot and faults/beyond-parity whole nodes.
  ...['faults/damage-matrix', 'faults/worn-files'],
  // A node that is shared unequally: forum/cold-reads and kernel/sliced-work measure the shares.
  'faults/shares',
  // Replication on real servers that fail: fault-matrix, nodes and histories do the same in fewer
  // ways, and simulation in more.
  ...['cluster/replication/engine-faults', 'cluster/replication/readers'],
  ...['cluster/replication/server-files', 'cluster/replication/stale-leader'],
  // The links and servers of the tests themselves.
  'cluster/replication/nats-cluster',
  // Simulations in examples/: client/agents runs the other examples.
  'client/simulations',
]

const slices = [
  'identities',
  'invitations',
  'threads',
  'claims',
  'feed',
  'webhooks',
  'tickets',
  'governance',
]

/** Each line is one process for the files in these folders. */
const shared = [
  ['config', 'documents', 'edge/http', 'operators/ops', 'clients/swarm'],
  ['forum', ...slices.map((slice) => `forum/${slice}`), 'forum/moderation'],
  ['kernel', 'kernel/columns', 'kernel/text'],
  ['base', 'cluster/readers', 'cluster/replication', 'engine/storage', 'histories', 'wal'],
  ['engine/role', 'forum/search', 'node', 'operators/admin', 'people', 'people/html'],
  ['api'],
  ['cli'],
  ['client'],
  ['clients/mcp', 'clients/shell'],
]

/**
 * Files in these folders that have a process of their own: because they have hooks for all of their
 * tests, because they start other programs or many nodes, or because they take 2 s or more.
 * Together with others those take longer than alone, up to three times: the heap is larger, and
 * compiled code is more general.
 */
const alone: Record<string, readonly string[]> = {
  // Those that wait, and those that start a node for nearly each test.
  api: [
    ...[
      'access',
      'checkpoints',
      'compat',
      'documents',
      'guesses',
      'hostile',
      'limits',
      'manual',
      'openapi',
    ],
    ...['other-protocols', 'proposal-hash', 'quotas', 'restart', 'slow-clients', 'tokens'],
    ...['waiting', 'wakeups', 'webhooks'],
  ],
  cli: ['archive', 'completion', 'first-minute', 'forms', 'unprivileged', 'wal-command'],
  client: [
    ...['agents', 'package', 'python', 'python-connections', 'python-gatherer', 'python-manual'],
    ...['patience', 'runtimes', 'simulations'],
  ],
  'clients/mcp': ['clients', 'setup', 'triage'],
  'clients/shell': ['ask', 'commands', 'watch', 'work'],
  documents: ['webhook-receiver'],
  'cluster/readers': ['readers'],
  'cluster/replication': [
    ...['checked-swarm', 'connect', 'engine-faults', 'fault-matrix', 'follower', 'following'],
    ...[
      'histories',
      'jetstream-calls',
      'jetstream-log',
      'lead',
      'nats-cluster',
      'nodes',
      'publisher',
    ],
    ...['reader-state', 'readers', 'server-files', 'simulation', 'stale-leader'],
  ],
  'edge/http': ['cold', 'host-check', 'surrogates'],
  histories: ['claim-history', 'node', 'node-claims'],
  forum: ['checkpoints', 'expiry', 'forum', 'kinds', 'state-pages'],
  'forum/feed': ['queries', 'waiting'],
  'forum/governance': ['commands'],
  'forum/search': ['expiry', 'faults', 'followers', 'index', 'sealed', 'search'],
  'forum/threads': ['queries'],
  'forum/webhooks': ['deliveries', 'send', 'webhook-program'],
  kernel: ['clock', 'compile', 'receipts'],
  'kernel/text': ['files', 'text'],
  'operators/ops': ['dashboard', 'prometheus'],
  people: ['making', 'pages', 'payloads', 'people', 'reader', 'search'],
  'clients/swarm': ['feeds', 'find-limit', 'scenario', 'swarm', 'verify', 'waiting'],
  wal: [
    ...['checkpoint-power', 'checkpoints', 'damage', 'lock', 'parity', 'power'],
    ...['recovery', 'sidecar'],
  ],
}

// Node's own HTTP server serves where uWebSockets.js does not run:
// `npm run test:node -- 24` runs the suites over it. The deep run repeats all suites over it here,
// except those that send no requests, wait long for webhooks, or test the code behind the edge.
// `limits` is left to the deep run: how far node:http grows before the heap is collected (up to 193
// MiB were seen, 100 are allowed) depends on the machine.
const behindTheEdge = ['document', 'openapi', 'wakeups', 'checkpoints', 'restart']

// Some also run with their text on disk as soon as possible (api/everything-cold.ts): a sample, and
// in the deep run all but those that count checkpoints or memory.
const cold = ['threads']
const neverCold = ['document', 'openapi', 'checkpoints', 'limits', 'ops']

// And over nodes with readers: a sample, and in the deep run the tests of kills and of faults of a
// replicated log, and all but those that look at one process. Not where the port cannot be shared
// (edge/http/node.ts).
const ofReaders = ['feed']
const neverOfReaders = [
  ...['document', 'openapi', 'checkpoints', 'limits', 'ops', 'proxy-headers'],
  ...['slow-clients', 'waiting'],
]

/** `change`: what npm test runs; `system`: all the rest. */
export type Part = 'change' | 'system'

/** The jobs of these parts. */
export function jobsOfParts(parts: readonly Part[]): Job[] {
  const jobs = [...(parts.includes('system') ? repeatedJobs() : [])]
  const files = testFiles().filter((file) => {
    if (!isDeep && onlyDeep.some((name) => file.startsWith(name))) return false
    return parts.includes(ofSystem.some((name) => file.startsWith(name)) ? 'system' : 'change')
  })
  return [...jobs, ...jobsOf(files)]
}

function testFiles(): string[] {
  const names = readdirSync(testsDirectory, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.test.js')).sort()
}

/** Suites that run again, over other servers and stores. */
function repeatedJobs(): Job[] {
  const again = (sample: readonly string[], never: readonly string[]) =>
    testFiles().filter((name) => {
      const suite = /^api\/(.*)\.test\.js$/.exec(name)?.[1]
      if (suite === undefined) return false
      return isDeep ? !never.includes(suite) : sample.includes(suite)
    })
  const none: string[] = [] // test:node runs some of them
  const overNode = { AGENT_FORUM_HTTP: 'node' }
  const onDisk = { TEST_TEXT: 'cold' }
  const withReaders = { TEST_READERS: '2' }
  const readers = again(ofReaders, neverOfReaders)
  if (isDeep) readers.push('faults/kill.test.js', 'cluster/replication/fault-matrix.test.js')
  return [
    ...again(none, behindTheEdge).map((name) => jobOf(name, overNode, ' over node:http')),
    ...again(cold, neverCold).map((name) => jobOf(name, onDisk, ' with its text on disk')),
    ...readers.map((name) => jobOf(name, withReaders, ' with readers')),
  ]
}

/** The jobs that run these files once each. */
export function jobsOf(files: readonly string[]): Job[] {
  const jobs: Job[] = []
  const groups = new Map<readonly string[], string[]>()
  for (const file of files) {
    const [folder, name] = [dirname(file), basename(file, '.test.js')]
    const isAlone = alone[folder]?.includes(name)
    const group = isAlone ? undefined : shared.find((folders) => folders.includes(folder))
    if (group === undefined) jobs.push(jobOf(file))
    else groups.set(group, [...(groups.get(group) ?? []), file])
  }
  for (const [folders, files] of groups) {
    const name = `group of ${pluralize(files.length, 'file')} in ${folders.join(', ')}`
    jobs.push(files.length === 1 ? jobOf(files[0]!) : { name, files, environment: {} })
  }
  const rankOf = ({ name }: Job) => first.findIndex((beginning) => name.startsWith(beginning))
  return jobs.sort((a, b) => rankOf(a) - rankOf(b))
}

function jobOf(file: string, environment: Record<string, string> = {}, how = ''): Job {
  return { name: file + how, files: [file], environment }
}
