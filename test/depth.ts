// How much is run of the tests that are random or exhaustive. `npm test` takes a sample of each,
// `npm run test:deep` takes more than anybody waits for. The sizes are here and nowhere else.
//
// An environment variable sets each size, in both: SIMULATE_SEEDS=1000 npm test.
// TEST_SEED=n repeats what a test has chosen at random and printed.

interface Size {
  check: number
  deep: number
  /** What is counted. */
  of: string
}

export const sizes = {
  SIMULATE_SEEDS: { check: 50, deep: 5_000, of: 'seeds that a simulated node lives through' },
  POWER_SEEDS: { check: 300, deep: 20_000, of: 'seeds of power losses of a journal' },
  CHECKPOINT_SEEDS: { check: 100, deep: 3_000, of: 'seeds of power losses during checkpoints' },
  KILLS: { check: 3, deep: 50, of: 'kills of a node under load' },
  CRASH_POINTS: { check: 16, deep: 1_000, of: 'crash points at most, chosen at random' },
  DAMAGE_STRIDE: { check: 1_999, deep: 31, of: 'bytes between the damaged bytes of a store' },
  FUZZ_ROUNDS: { check: 2, deep: 500, of: 'rounds of fuzzing for each HTTP server' },
} satisfies Record<string, Size>

export const isDeep = process.env.TEST_DEPTH === 'deep'

/** For what takes as long as its size says, in place of tap's limit. */
export const timeoutMs = isDeep ? 24 * 3_600_000 : 300_000

export function sizeOf(name: keyof typeof sizes): number {
  const { check, deep } = sizes[name]
  return Number(process.env[name] ?? (isDeep ? deep : check))
}

/** Print it wherever it decides something. */
export const chosenSeed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000)
