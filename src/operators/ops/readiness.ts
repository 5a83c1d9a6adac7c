// Whether the node answers requests and, if not, the progress of its start or stop; and the
// warnings for operators.

import { pluralize } from '../../base/text.ts'
import type { ReplicationStats, SearchStats, Vitals } from './vitals.ts'

interface Readiness {
  isReady: boolean
  /** One line, or one for each check with `isVerbose`. */
  text: string
}

export function readiness(vitals: Vitals, isVerbose: boolean): Readiness {
  const { refusal } = vitals.availability
  const stale = refusal === null ? outdated(vitals) : null
  const isReady = refusal === null && stale === null
  const summary =
    stale ?? { starting, shutting_down: draining, ok: serving }[refusal ?? 'ok'](vitals)
  if (!isVerbose) return { isReady, text: `${summary}\n` }
  const { journal } = vitals
  const log = journal === null ? starting(vitals) : `at ${journal.position}`
  const health = journal === null ? 'not open yet' : journal.health
  const where = vitals.durability === 'memory' ? ', in memory only' : ''
  const lines = [
    `${mark(journal !== null)} log: ${log}`,
    `${mark(health === 'ok')} storage: ${health}${where}`,
    `${mark(isReady)} requests: ${isReady ? 'answered' : summary}`,
    pageFiles(vitals),
    ...readersOf(vitals),
    ...searchLine(vitals),
    ...replicationLine(vitals),
    ...warningsBesideLag(vitals).map((warning) => `${mark(false)} ${warning}`),
  ]
  return { isReady, text: `${lines.join('\n')}\n` }
}

function pageFiles({ scrub: { ageSeconds, found } }: Vitals): string {
  const age = ageSeconds()
  if (Number.isNaN(age)) return `${mark(true)} page files: not scrubbed yet`
  const what = found === 0 ? 'all good' : `${pluralize(found, 'damaged page')} found, see the log`
  return `${mark(found === 0)} page files: scrubbed ${Math.floor(age)} s ago, ${what}`
}

/** Returns a line, unless some readers do not serve: a warning then says so. */
function readersOf({ readers }: Vitals): string[] {
  if (readers === null || readers.warnings.length > 0) return []
  const { configured, serving } = readers.counts
  return [`${mark(true)} readers: ${serving} of ${configured} serve`]
}

function mark(isGood: boolean): string {
  return isGood ? '[+]' : '[-]'
}

/**
 * Describes a node that answers. It is ready even if it refuses writes, because taking it out of
 * service would stop reads as well.
 */
function serving(vitals: Vitals): string {
  const health = vitals.journal?.health ?? 'ok'
  const what = [...(health === 'ok' ? [] : [`storage: ${health}`]), ...warningsOf(vitals)]
  return what.length === 0 ? 'ok' : `degraded: ${what.join('; ')}`
}

/** Returns the faults that do not keep the node from answering, one sentence each. */
export function warningsOf(vitals: Vitals): string[] {
  return [...warningsBesideLag(vitals), ...replicationWarnings(vitals)]
}

/** Returns the warnings that do not repeat the line about replication. */
function warningsBesideLag(vitals: Vitals): string[] {
  const { journal, warnings, logOutput, clock, readers } = vitals
  const ofLog = [...(journal?.warnings ?? []), ...warnings(), ...logOutput.warnings]
  return [...ofLog, ...clock.warnings(), ...(readers?.warnings ?? [])]
}

/**
 * Describes the progress of a start. With a replicated log, the log is already open in the step
 * `stream`, and the start may be waiting for its storage.
 */
function starting({ start: { step, done, of, why: waitsFor = '' }, journal }: Vitals): string {
  if (step === 'stream') {
    const health = journal?.health ?? 'ok'
    const why = health === 'ok' ? '' : `; storage: ${health}`
    const what = waitsFor === '' ? 'waits for the stream of the log, or reads it' : waitsFor
    return `starting: ${what}${why}`
  }
  if (step === 'indexes') return `starting: ${done} of ${of} indexes filled`
  const percent = of === 0 ? 0 : Math.floor((100 * done) / of)
  const what = step === 'checkpoint' ? 'checkpoint read' : 'log replayed'
  return `starting: ${percent}% of the ${what}, ${done} of ${of} bytes`
}

function draining(vitals: Vitals): string {
  return `draining: ${vitals.gate.length} answers wait for the log`
}

/** The lag from which a warning is given. */
const notableLagSeconds = 5

/** Returns why a node that answers is not ready, or null: other nodes may know more. */
function outdated({ replication }: Vitals): string | null {
  if (replication?.isStale() !== true) return null
  return replication.role === 'follower'
    ? `lagging: ${lagOf(replication)}`
    : 'cut off: the lease of this leader has lapsed, another node may lead'
}

function replicationWarnings({ replication }: Vitals): string[] {
  if (replication === null || replication.lagSeconds() < notableLagSeconds) return []
  return [`replication: ${lagOf(replication)}`]
}

/** Returns one line for `/readyz?verbose`, or none if the log is not replicated. */
function replicationLine({ replication }: Vitals): string[] {
  if (replication === null) return []
  const { role } = replication
  const sign = mark(replication.lagSeconds() < notableLagSeconds)
  return [`${sign} replication: ${role} in term ${replication.term()}, ${lagOf(replication)}`]
}

function lagOf(replication: ReplicationStats): string {
  const positions = pluralize(replication.lagPositions(), 'position')
  const lag = `${positions} and ${replication.lagSeconds().toFixed(1)} s`
  return replication.role === 'follower' ? `${lag} behind` : `the stream is ${lag} behind`
}

/** Returns the line about the search. A node without a search is ready, and not degraded. */
function searchLine({ search, state }: Vitals): string[] {
  if (search === null) return []
  if (!search.isAvailable) return [`[+] search: off, ${search.absence}`]
  const { indexed, stallReason } = search.progress
  const missing = missingOf(search, state.messages.count)
  const waits = stallReason === '' ? '' : `; waits: ${stallReason}`
  const found =
    missing === 0
      ? `all of ${pluralize(indexed, 'message')}`
      : `${indexed} of ${pluralize(indexed + missing, 'message')}`
  return [`[+] search: ${found}${waits}`]
}

/** Returns how many of `count` messages cannot be found yet. */
export function missingOf({ progress: { indexed } }: SearchStats, count: number): number {
  return Math.max(0, count - indexed)
}
