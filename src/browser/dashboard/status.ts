// The shape of /status.json, as a node writes it and the dashboard reads it. docs/operating.md,
// "The dashboard", describes it for programs.
//
// S1. A program that knows format 1 may rely on every field below; fields may be added to it.
// S2. No id, name or text of a caller is in it: columns and reasons have names of the program.
// S3. null is a number that is unknown: nothing was measured, or nothing has happened yet.

export interface Status {
  format: 1
  node: {
    version: string
    node_version: string
    /** The HTTP server. */
    http: string
    durability: string
    /** Milliseconds since 1970. Another one: another process, whose samples begin at 1 again. */
    started_at: number
    uptime_seconds: number
  }
  ready: Ready
  /** Routes that have answered, those with most answers first. */
  routes: RouteAnswers[]
  /** Null until the log is replayed. */
  log: LogStatus | null
  load: {
    connections: Held
    /** Polls that wait for news. */
    waiting: Held
    /** Answers that wait until the log is durable. */
    gate: Held
    /** Requests that wait for text that is on disk. */
    cold_reads: Held
    queue_bytes: Held
  }
  memory: {
    resident_bytes: Held
    heap_bytes: Held
    /** Text of messages that is in memory, and all of it. */
    text_bytes: Held
    text_total_bytes: number
  }
  /** Since the start, by reason: requests refused, and connections closed, because of a limit. */
  refusals: Record<string, number>
  checkpoints: {
    taken: number
    failed: number
    /** Of the newest one, which an earlier process may have taken: then the others are null. */
    position: number
    age_seconds: number | null
    duration_seconds: number | null
    bytes: number | null
    /** Records that a start would replay. */
    records_behind: number
  }
  content: { identities: number; threads: number; messages: number }
  /** Null on a node without readers. */
  readers: ReadersStatus | null
  /** Null on a node that is not replicated. */
  replication: Replication | null
  /** The newest sample: its values by column; columns without a value are left out. */
  latest: Record<string, number>
  series: Series
}

export interface Ready {
  state: 'starting' | 'serving' | 'degraded' | 'draining'
  /** The line of /readyz. */
  text: string
  /** What is wrong and does not keep the node from answering, one sentence each. */
  warnings: string[]
}

export interface RouteAnswers {
  route: string
  /** Answers since the start, and those with a status of 4xx and 5xx. */
  answers: number
  refused: number
  failed: number
}

export interface LogStatus {
  position: number
  durable_position: number
  health: string
  segment: number
  bytes: number
}

/** The processes that answer reads beside this one; what they answer is counted with the rest. */
export interface ReadersStatus {
  configured: number
  serving: number
  /** How often one was started again. */
  restarts: number
  /** Requests that they have passed on to this process. */
  forwarded: number
  /** Records that the slowest had not applied when it reported last; null: none has reported. */
  behind_records: number | null
  resident_bytes: number
  cpu_seconds: number
}

export interface Replication {
  role: 'leader' | 'follower'
  /** The term of the newest record here. */
  term: number
  /** What the stream has and this follower lacks, or this leader has and the stream lacks. */
  lag_positions: number | null
  lag_seconds: number | null
  /** How often this process took over, and how often another node took over from it. */
  takeovers: number
  fenced: number
  /** Requests that were passed on to the leader. */
  forwarded: number
}

/** How much there is of something that has a limit; null: none is set. */
export interface Held {
  now: number | null
  max: number | null
}

/**
 * Samples, one a second, of the last ten minutes or after the one that the request names
 * (`?after=N`). Their columns:
 *
 *   requests  requests:ROUTE   answers a second        failed        those with a status of 5xx
 *   p50, p99  p50:ROUTE, …     seconds to answer       sync_p50, …   seconds of a sync
 *   records                    durable records/s       refusals:WHY  refusals a second
 *   waiting  gate  connections                         checkpoints   taken in this second
 *   resident  heap  text       bytes                   cpu           of one core, 1 is all of it
 *   loop_p50  loop_max         seconds the event loop was late      behind        the checkpoint
 *   lag                        positions behind the stream, or of a leader ahead of it
 *   readers_behind             records that the slowest reader is behind
 *   readers_forwarded          requests/s that readers passed on   readers_cpu   of one core
 *
 * Quantiles (p50, p99) are of the ten seconds before the sample.
 */
export interface Series {
  /** The numbers of the first and the last sample; `last` is `first - 1` where there are none. */
  first: number
  last: number
  /** When each was taken, in seconds after the start of the process. */
  at: number[]
  /** By column, as long as `at`. A column without any value but `emptyOf` it is left out. */
  columns: Record<string, (number | null)[]>
}

/** The most samples that are kept: ten minutes of one a second. */
export const samplesMax = 600

/** The value of a column that is left out: no time is known, and nothing else happened. */
export function emptyOf(column: string): number | null {
  return /^(?:sync_)?p\d|^loop_/.test(column) ? null : 0
}
