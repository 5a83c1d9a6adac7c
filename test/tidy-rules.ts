// The style of this repository as rules. Each finds violations in one file, and says what to write
// instead. biome checks the format and the length of functions; these rules are the ones that it
// cannot check.

import { posix } from 'node:path'

export interface Source {
  /** The path from the top of the project, with slashes. */
  path: string
  text: string
}

export interface Rule {
  name: string
  instead: string
  /** Whether the rule applies to this file. */
  covers(path: string): boolean
  /** Returns the violations, each as a line number or a few words. */
  find(source: Source): string[]
}

const lineMax = 100
const linesMax = 400

/** Files that may be longer, with the reason. */
const longFiles = new Map([
  ['test/wal/simulated-disk.ts', 'one disk: what is seen, what is durable, what a crash leaves'],
])

// The rooms that a room may import, in addition to itself and `src/base`. All rooms may import the
// latter, except those whose files are loaded elsewhere: the client, and what runs in browsers.
//
//   cli → node → cluster → engine → operators → config → edge/http → forum → people → edge/api
//     → kernel → wal
//
// A slice is what the forum does with one noun: its machine, records, tables, commands, routes and
// pages. Slices import one another, because what is published is announced, found and shown; no
// file reaches itself (`importCycles`). The files at the top of forum/ list what all slices have,
// or serve all of them.
//
// The node puts everything together. Swarm and client do not know the forum, because they use its
// interface. mcp goes through the client, and takes the schemas of its tools from the routes. shell
// goes through the client, too. What runs in browsers imports only what browsers can load.
const kernel = ['src/kernel', 'wal']
const declared = ['src/edge/api', ...kernel]
const shown = ['src/people', 'src/client/types.ts', ...declared]
const decided = ['src/forum', ...shown]
const answered = ['src/edge/http', ...decided]
const operated = ['src/operators', 'src/people/browser', 'src/config', ...answered]
const below: Record<string, readonly string[]> = {
  'src/base': [],
  wal: [],
  'src/kernel': ['wal'],
  'src/edge/api': kernel,
  'src/edge/http': [...declared, 'src/forum/identities/commands.ts'],
  'src/people': shown,
  'src/people/html': [],
  'src/people/browser': [],
  'src/forum': shown,
  'src/config': answered,
  'src/operators/ops': operated,
  'src/operators/admin': ['src/engine/storage', ...operated],
  'src/engine/storage': operated,
  'src/engine/role': operated,
  'src/cluster/replication': ['src/engine', ...operated],
  'src/cluster/readers': ['src/cluster/replication', 'src/engine', ...operated],
  'src/node': ['src/cluster', 'src/engine', ...operated],
  'src/client': [],
  'src/clients/swarm': ['src/client', 'src/people/html'],
  'src/clients/mcp': ['src/client', ...declared, 'src/forum'],
  'src/clients/shell': ['src/client', 'src/clients/mcp/identity-file.ts'],
  'src/cli': ['src/node', 'src/cluster', 'src/engine', 'src/clients', 'src/client', ...operated],
}

// What every room from the kernel up may name as types: the forum and its state, which list the
// slices, and what the edge hands over between a slice and its caller.
const namedTypes = ['src/forum', 'src/people']

// A machine says how one kind of actor behaves. It knows neither tables nor other machines.
const ofMachines = ['src/kernel/actor.ts', 'src/base']
const isMachine = (path: string) =>
  /^src\/forum\/(?:[a-z]+\/machine|feed\/subscription|webhooks\/delivery)\.ts$/.test(path)

// What routes may load; from other files they import only types. So a declaration of the interface
// can be read without loading the forum, which the tools of mcp rely on.
const loadedByRoutes = ['src/edge/api', 'src/base', 'src/kernel/rejection.ts']
const isRoutes = (path: string) =>
  /^src\/(?:edge\/api\/|forum\/(?:documents|[a-z]+\/(?:[a-z-]+-)?(?:routes|schemas))\.ts)/.test(
    path,
  )

/** Whether the room's files are loaded where no other file of the project is. */
const standsAlone = (room: string) => room === 'src/client' || room === 'src/people/browser'

// The places besides stamp.ts where time and randomness may be used: for measurements, or for
// values that no record contains.
const anything = /./
const chance: [place: string, allowed: RegExp][] = [
  ['src/kernel/stamp.ts', anything],
  ['src/base/pauses.ts', /performance\.now/],
  ['src/operators/admin/browser-sessions.ts', /performance\.now|randomBytes/],
  ['src/kernel/text/', /performance\.now/],
  ['src/engine/storage/', /performance\.now|randomBytes/],
  ['src/cluster/replication/', /performance\.now|randomBytes/],
  ['src/cluster/readers/', /performance\.now/],
  ['src/engine/role/', /performance\.now/],
  ['src/node/', /performance\.now/],
  ['src/forum/search/', /performance\.now/],
  ['src/edge/http/', /performance\.now/],
  ['src/people/html/html.ts', /new Date/], // it shows the time of a record
  ['src/cli/admin-access.ts', /new Date/], // so does this
  ['src/operators/ops/', /performance\.now/],
  ['src/clients/swarm/', anything],
  ['src/client/', anything],
  ['src/clients/mcp/', anything],
  ['src/clients/shell/', anything],
  ['src/people/browser/', anything],
  ['wal/', /performance\.now/],
  ['wal/journal/lock.ts', /randomBytes/],
  ['wal/journal/prepare-tail.ts', /randomBytes/],
]
const chanceWords =
  /\b(?:Date\.now|new Date|Math\.random|random(?:Bytes|FillSync|UUID|Int)|performance\.now)\b/g

const benchHead = ['Question', 'Compares', 'Fixed', 'Reports', 'Leaves out', 'Smoke']
const leftOpen = /\b(?:TODO|FIXME|XXX)\b|\.only\(/
const silenced =
  /\.(?:skip|todo)\(|\b(?:skip|todo): |@ts-(?:ignore|expect-error|nocheck)|biome-ignore/
const ownPaths = /registry\.npmjs|deb\.debian|(?<![\w.])\/(?:work|farm|home|root|Users)\/\w/

const loadsUws = /(?:from |import\(|require\()['"](?:uWebSockets\.js|uws-pack)/

const isCode = (path: string) => path.endsWith('.ts')
const isOwn = (path: string) => path.startsWith('test/tidy')
const isProduct = (path: string) => isCode(path) && /^(?:src|wal)\//.test(path)

export const rules: readonly Rule[] = [
  {
    name: `lines of at most ${lineMax} characters`,
    instead: 'break the sentence or the expression; biome does not break comments and texts',
    covers: isCode,
    find: ({ text }) => linesWhere(text, (line) => [...line].length > lineMax),
  },
  {
    name: `files of at most ${linesMax} lines`,
    instead: 'find the parts of the file, and give each part a file of its own',
    covers: isCode,
    find({ path, text }) {
      const count = text.split('\n').length - 1
      return count <= linesMax || longFiles.has(path) ? [] : [`${count} lines`]
    },
  },
  {
    name: 'a file says first what it is',
    instead: 'begin with a comment: what this is, what always holds, who its neighbours are',
    covers: (path) => isCode(path) && !path.endsWith('.test.ts'),
    find: ({ text }) => (/^(?:#!.*\n)?\/\/ \S/.test(text) ? [] : ['no head']),
  },
  {
    name: 'files are nouns, kebab-case.ts',
    instead: 'write small letters and digits with single hyphens between words',
    covers: isCode,
    find({ path }) {
      const isKebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?\.ts$/.test(posix.basename(path))
      return isKebab ? [] : [posix.basename(path)]
    },
  },
  {
    name: 'no file stands alone at the top of src',
    instead: 'put it into the room that it belongs to, or give it one',
    covers: (path) => path.startsWith('src/'),
    find: ({ path }) => (path.split('/').length === 2 ? [posix.basename(path)] : []),
  },
  {
    name: 'nothing is left open',
    instead: 'finish it or remove it; what is left to do belongs into an issue',
    covers: (path) => isCode(path) && !isOwn(path),
    find: ({ text }) => linesWhere(text, (line) => leftOpen.test(line)),
  },
  {
    name: 'an index needs no `!`',
    instead: 'leave the `!` out: noUncheckedIndexedAccess is off, and it says nothing',
    covers: (path) => isCode(path) && /^(?:src|wal|bench)\//.test(path),
    find: ({ text }) => linesWhere(text, (line) => /\]!(?!=)/.test(line)),
  },
  {
    name: 'what is skipped or silenced has its reason beside it',
    instead: 'say why in a comment on this line or the one before, or remove it',
    covers: (path) => isCode(path) && !isOwn(path),
    find: ({ text }) =>
      linesWhere(text, (line, before) => {
        if (!silenced.test(line)) return false
        const reason = line.replace(/.*biome-ignore [\w/]*|.*@ts-[\w-]+/, '//')
        return !/\/\/.*\w/.test(reason) && !/^\s*\/\/ /.test(before)
      }),
  },
  {
    name: 'time and chance enter in src/kernel/stamp.ts',
    instead: 'take them from `stamps` and put them into the record; performance.now only measures',
    covers: isProduct,
    find({ path, text }) {
      const here = chance.filter(([place]) => path.startsWith(place)).map(([, allowed]) => allowed)
      return linesWhere(text, (line) => {
        const words = line.replace(/^\s*\*.*|\/\/.*/, '').match(chanceWords) ?? []
        return words.some((word) => !here.some((allowed) => allowed.test(word)))
      })
    },
  },
  {
    name: 'imports run cli → node → engine → forum → edge → kernel → wal, never back',
    instead: 'move what is shared down to the lower room, or hand it over as an argument',
    covers: isProduct,
    find({ path, text }) {
      const room = roomOf(path)
      if (isMachine(path)) {
        return importsOf(path, text).filter((target) => !isIn(ofMachines, target))
      }
      const allowed = [room, ...below[room], ...(standsAlone(room) ? [] : ['src/base'])]
      const named = standsAlone(room) ? [] : namedTypes
      const loaded = new Set(loadsOf(path, text))
      return importsOf(path, text).filter(
        (target) => !isIn(loaded.has(target) ? allowed : [...allowed, ...named], target),
      )
    },
  },
  {
    name: 'routes are declared without a forum',
    instead: 'import the type, and run what `commands` of the service has (src/forum/commands.ts)',
    covers: isRoutes,
    find: ({ path, text }) =>
      loadsOf(path, text).filter(
        (target) => !isRoutes(target) && !isMachine(target) && !isIn(loadedByRoutes, target),
      ),
  },
  {
    name: 'uWebSockets.js is loaded in src/edge/http/uws-binding.ts only',
    instead: 'use the Exchange of src/edge/http/exchange.ts',
    covers: (path) =>
      isCode(path) && !/^(?:src\/edge\/http\/uws-binding\.ts|test\/tidy)/.test(path),
    find: ({ text }) => linesWhere(text, (line) => loadsUws.test(line)),
  },
  {
    name: 'no paths of one machine and no registry hosts',
    instead: 'write a relative path or an example, like forum.example',
    covers: (path) => !isOwn(path),
    find: ({ text }) => linesWhere(text, (line) => ownPaths.test(line)),
  },
  {
    name: 'a test is named: who: in what state: what happens: what must hold',
    instead: 'name at least who and what must hold, with a colon between',
    covers: (path) => path.endsWith('.test.ts') && !isOwn(path),
    find({ text }) {
      const names = [...text.matchAll(/\bt\.test\(\s*(['"`])(.*?)\1,/g)].map(([, , name]) => name)
      return names.filter((name) => !/.: ./.test(name))
    },
  },
]

/**
 * Returns the benchmarks whose head does not state their question. A file that another one imports
 * counts as a part.
 */
export function benchesWithoutQuestion(sources: readonly Source[]): string[] {
  const benches = sources.filter(({ path }) => path.startsWith('bench/') && isCode(path))
  const isPart = (path: string) => {
    const stem = posix.basename(path, '.ts')
    const naming = new RegExp(`['"/]${stem}\\.(?:ts|js)['"]`)
    return benches.some((other) => other.path !== path && naming.test(other.text))
  }
  const head = new RegExp(
    `^${benchHead.map((word) => `// ${word}: +\\S.*\n(?://  .*\n)*`).join('')}`,
  )
  return benches
    .filter(({ path, text }) => !isPart(path) && !head.test(text))
    .map(({ path }) => path)
}

/**
 * Returns the import cycles, type imports included, each as a list of files. No file in a cycle can
 * be understood before the others.
 */
export function importCycles(sources: readonly Source[]): string[][] {
  const imports = new Map<string, string[]>()
  for (const { path, text } of sources) if (isCode(path)) imports.set(path, importsOf(path, text))
  // Tarjan's algorithm: `lowest` is the earliest visited file that a file reaches.
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []
  const visit = (path: string): void => {
    order.set(path, order.size)
    lowest.set(path, order.get(path)!)
    open.push(path)
    for (const target of imports.get(path) ?? []) {
      if (!imports.has(target)) continue
      if (!order.has(target)) visit(target)
      if (!open.includes(target)) continue
      lowest.set(path, Math.min(lowest.get(path)!, lowest.get(target)!))
    }
    if (lowest.get(path) !== order.get(path)) return
    const together = open.splice(open.indexOf(path))
    if (together.length > 1) cycles.push(together.sort())
  }
  for (const path of imports.keys()) if (!order.has(path)) visit(path)
  return cycles
}

const answer = /(?:\brefuse\(\w+, |\b(?:rejected|code): |\breturn | [?:] )'([a-z]+(?:_[a-z]+)*)'/g

/**
 * Returns the error codes with which a request is answered: passed to `refuse`, in a rejection, or
 * returned.
 */
export function answeredCodes(text: string): string[] {
  return [...text.matchAll(answer)].map(([, code]) => code)
}

/** Returns the room of a file: the longest entry of `below` that it is in. */
function roomOf(path: string): string {
  const rooms = Object.keys(below).filter((room) => path.startsWith(`${room}/`))
  return rooms.reduce((longest, room) => (room.length > longest.length ? room : longest), '')
}

/** Returns the project's own files that a file imports. */
function importsOf(path: string, text: string): string[] {
  const named = text.matchAll(/(?:from|import\(|^import)\s*['"](\.{1,2}\/[^'"]+)['"]/gm)
  return [...named].map(([, name]) => posix.join(posix.dirname(path), name))
}

/** Returns the project's own files that a file loads: those that it imports not only as types. */
function loadsOf(path: string, text: string): string[] {
  const types = /^(?:import|export) type\b[^='"]*['"][^'"]*['"]|typeof import\([^)]*\)/gm
  return importsOf(path, text.replaceAll(types, ''))
}

/** Returns all files that are loaded, directly or indirectly, when these are. */
export function loadedWith(paths: readonly string[], sources: readonly Source[]): Set<string> {
  const texts = new Map(sources.map(({ path, text }) => [path, text]))
  const loaded = new Set(paths)
  for (const path of loaded) {
    for (const target of loadsOf(path, texts.get(path) ?? '')) loaded.add(target)
  }
  return loaded
}

/** Returns whether a file is one of these, or in one of these folders. */
function isIn(places: readonly string[], path: string): boolean {
  return places.some((place) => path === place || path.startsWith(`${place}/`))
}

function linesWhere(text: string, isWrong: (line: string, before: string) => boolean): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, i) => (isWrong(line, lines[i - 1] ?? '') ? [`line ${i + 1}`] : []))
}
