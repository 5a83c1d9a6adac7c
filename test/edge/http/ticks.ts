// Ticks that end when a test says so. No time passes in them, so that heavy work needs no rest.

import assert from 'node:assert/strict'
import type { Ticks } from '../../../src/edge/http/heavy-work.ts'

export function ticksThat(atEnd: Ticks['atEnd']): Ticks {
  return { atEnd, now: () => 0, after: () => assert.fail('no work has taken any time') }
}
