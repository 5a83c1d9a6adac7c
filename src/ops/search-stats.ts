// What the search of a node counts and measures of itself.

export interface SearchStats {
  /** The engine that serves; null: none has started yet, '': none loads. */
  readonly engine: string | null
  readonly isAvailable: boolean
  /** How often the process of the index was started again. */
  readonly restarts: number
  readonly progress: {
    /** All messages before this number are indexed; and how many there are in all. */
    readonly covered: number
    readonly indexed: number
    readonly shards: number
    readonly bytes: number
    readonly residentBytes: number
    readonly cpuSeconds: number
    /** Why it does not go on; '': it does. */
    readonly trouble: string
  }
  readonly link: {
    /** How many searches wait or are done, and were refused. */
    readonly length: number
    readonly refused: number
    readonly times: {
      readonly boundsSeconds: readonly number[]
      readonly counts: ArrayLike<number>
      readonly seconds: number
    }
  }
}
