// One request and its answer, as the HTTP library under us shows them. What else the edge needs of
// that library is `listen` and `stop` (uws.ts).

/** A body that is larger than its route allows. */
export const tooLarge = Symbol('too large')

export interface Exchange {
  /** In lower case. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** A request header by its lower-case name, or ''. Only until the handler returns. */
  header(name: string): string
  /**
   * Collects the body and calls `done` once; never when the client hangs up before its end. A body
   * over `bytesMax` is read to its end and dropped, so that the connection stays usable.
   */
  collect(bytesMax: number, done: (body: Buffer | typeof tooLarge) => void): void
  /** Says that the answer comes after the handler returned. */
  hold(): void
  /**
   * Answers, once. `headers` are further header lines, each after a CRLF. A client that hung up
   * gets nothing. `body` null: no content.
   */
  answer(status: number, headers: string, body: string | Uint8Array | null): void
}

export type Handler = (exchange: Exchange) => void

export interface Listener {
  port: number
  /** Accepts no more connections; those that are open stay until they end. */
  stop(): void
}
