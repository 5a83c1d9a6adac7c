// A scenario of --scenario: what agents do, and at which rates, as a JSON file.
//
//   {"actions": {"publish": 10, "poll": 70, "read": 20, "search": 5},
//    "think_ms": 0,
//    "phases": [{"name": "morning", "rate": 100, "seconds": 60},
//               {"name": "rush", "burst": 500, "seconds": 10},
//               {"name": "full load", "seconds": 30}]}
//
// N1. The actions are weights: for each message that is published, so many polls of feeds, reads of
//     threads and searches follow, on average. Without them they are those of any other run.
// N2. A phase has a `rate`, or a `burst` at the beginning of each second, in messages; or neither:
//     then each message is sent as soon as the one before it is answered, and `think_ms` later.
//     With a rate there is no time to think, because the rate says when messages are due.

import { readFile } from 'node:fs/promises'
import { Ajv, type ErrorObject } from 'ajv'
import { ConfigError, unreadable } from '../../base/arguments.ts'
import { rateMax } from './pace.ts'

export type ScenarioPhase = { name: string; seconds: number; rate?: number; burst?: number }

export type Actions = { publish: number; poll?: number; read?: number; search?: number }

export type Scenario = { actions?: Actions; think_ms?: number; phases: ScenarioPhase[] }

const whole = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum })
const object = (required: string[], properties: Record<string, unknown>) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})
const weight = { type: 'number', minimum: 0, maximum: 1000 }

const isScenario = new Ajv({ allErrors: true }).compile<Scenario>(
  object(['phases'], {
    actions: object(['publish'], {
      publish: { type: 'number', exclusiveMinimum: 0, maximum: 1000 },
      poll: weight,
      read: weight,
      search: weight,
    }),
    think_ms: whole(0, 600_000),
    phases: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: object(['name', 'seconds'], {
        name: { type: 'string', minLength: 1, maxLength: 40 },
        seconds: whole(1, 86_400),
        rate: whole(1, rateMax),
        burst: whole(1, rateMax),
      }),
    },
  }),
)

/** Reads a scenario. Throws ConfigError with a sentence for each mistake, a line each. */
export async function readScenario(file: string): Promise<Scenario> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(unreadable(file, error))
  }
  const mistakes = isScenario(value)
    ? contradictions(value)
    : (isScenario.errors ?? []).map(sentenceOf)
  if (mistakes.length === 0) return value as Scenario
  throw new ConfigError(mistakes.map((mistake) => `${file}: ${mistake}`).join('\n'))
}

/** `phases/1/rate must be integer`. */
function sentenceOf({ instancePath, message, params }: ErrorObject): string {
  const path = instancePath === '' ? 'the scenario' : instancePath.slice(1)
  const { additionalProperty } = params as { additionalProperty?: string }
  return additionalProperty === undefined
    ? `${path} ${message}`
    : `${path} must not have "${additionalProperty}"`
}

/** Returns what each for itself is right, and together is not (N2). */
function contradictions({ phases, think_ms = 0 }: Scenario): string[] {
  return phases.flatMap(({ rate, burst }, n) => {
    const both = rate !== undefined && burst !== undefined
    const isPaced = rate !== undefined || burst !== undefined
    return [
      ...(both ? [`phases/${n} has a rate and a burst, and must have one of them`] : []),
      ...(isPaced && think_ms > 0 ? [`phases/${n} has a rate, and think_ms must be 0 then`] : []),
    ]
  })
}
