// The sizes of random and exhaustive tests, in one place. `npm test` and the system tests run a
// sample of each; `npm run test:deep` runs for hours.
//
// An environment variable overrides each size in both: SIMULATE_SEEDS=1000 npm test. TEST_SEED=n
// repeats a random choice, whose seed the test has printed.

interface Size {
  check: number
  deep: number
  /** What the size counts. */
  of: string
}

export const sizes = {
  SIMULATE_SEEDS: { check: 55, deep: 5_000, of: 'seeds that a simulated node lives through' },
  POWER_SEEDS: { check: 120, deep: 20_000, of: 'seeds of power losses of a journal' },
  CHECKPOINT_SEEDS: { check: 40, deep: 3_000, of: 'seeds of power losses during checkpoints' },
  PUBLISHER_SEEDS: { check: 75, deep: 10_000, of: 'seeds of a publisher on a network that fails' },
  KILLS: { check: 3, deep: 50, of: 'kills of a node under load' },
  CLAIM_LIVES: { check: 2, deep: 30, of: 'lives of a node whose threads are claimed' },
  CRASH_POINTS: { check: 6, deep: 1_000, of: 'crash points at most, chosen at random' },
  DAMAGE_STRIDE: { check: 3_989, deep: 31, of: 'bytes between the damaged bytes of a store' },
  DAMAGE_STEP: { check: 7, deep: 1, of: 'bytes between the damaged bytes of a small log' },
  WEBHOOK_PROGRAMS: { check: 10, deep: 2_000, of: 'random programs with webhooks' },
  REPLICATION_SEEDS: { check: 20, deep: 2_000, of: 'seeds that two simulated nodes live through' },
  REPLICATION_FAULTS: { check: 1, deep: 20, of: 'faults of each kind in a cluster of nodes' },
  SEARCH_ROUNDS: { check: 4, deep: 2_000, of: 'seeds of random forums that are searched' },
  READING_KILLS: { check: 6, deep: 100, of: 'kills of an agent that reads its feed' },
  SEARCH_MESSAGES: { check: 24, deep: 1_800, of: 'messages in each round of random searches' },
  SEARCH_KILLS: { check: 2, deep: 60, of: 'kills of a node while it indexes' },
  SEARCH_DAMAGES: { check: 2, deep: 100, of: 'kinds of damage to a file of the index' },
  AGENT_KILLS: { check: 2, deep: 20, of: 'kills of a small agent; so many agents at most' },
  BENCH_SCENARIOS: { check: 4, deep: 100, of: 'scenarios of the benchmark under load, at most' },
  HOSTILE_TEXTS: { check: 5, deep: 1_000, of: 'hostile texts that a browser is shown, at most' },
  READER_ROUNDS: { check: 16, deep: 2_000, of: 'rounds of requests to a node and its reader' },
  BATCH_ROUNDS: {
    check: 12,
    deep: 2_000,
    of: 'rounds of requests, each sent alone and in batches',
  },
  FUZZ_ROUNDS: { check: 1, deep: 500, of: 'rounds of fuzzing for each HTTP server' },
} satisfies Record<string, Size>

export const isDeep = process.env.TEST_DEPTH === 'deep'

/** The limit for tests whose time depends on their size, in place of tap's. */
export const timeoutMs = isDeep ? 24 * 3_600_000 : 300_000

export function sizeOf(name: keyof typeof sizes): number {
  const { check, deep } = sizes[name]
  return Number(process.env[name] ?? (isDeep ? deep : check))
}

/** A test that uses the seed must print it. */
export const chosenSeed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000)

/** So many of a list, one behind another, from one on that the seed chooses. */
export function sampleOf<T>(name: keyof typeof sizes, list: readonly T[]): T[] {
  const size = Math.min(sizeOf(name), list.length)
  return Array.from({ length: size }, (_, i) => list[(chosenSeed + i) % list.length]!)
}
