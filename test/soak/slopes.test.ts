// The rules by which a soak is judged.

import t from 'tap'
import { judge, type Rule, type Sample } from './slopes.ts'

const rule: Rule = {
  ...{ name: 'memory', unit: 'MiB', over: 'life', perHour: 12, perRecord: 0.001, noise: 16 },
  ...{ isFloor: false, noiseShare: 0, minutesMin: 0 },
}

/** Samples of lives of ten minutes, with 10 records a second, and this value at each second. */
function samplesOf(lives: number, value: (secondOfLife: number, life: number) => number): Sample[] {
  return Array.from({ length: lives * 60 }, (_, n) => {
    const [second, life] = [n * 10, Math.floor(n / 60)]
    return { second, life, records: second * 10, values: { memory: value(second % 600, life) } }
  })
}

const saw = (second: number) => 80 + (second % 70) / 3

t.test('slopes: a saw on a level: passes', async (t) => {
  const { slope, records, isPassed, allowed } = judge(rule, samplesOf(3, saw))
  t.equal(records, 36_000)
  t.ok(isPassed, `${slope}`)
  t.ok(Math.abs(allowed - 48) < 1, `${allowed}: 12, and 36,000 records`)
})

t.test('slopes: it grows as the records explain: passes', async (t) => {
  t.ok(
    judge(
      rule,
      samplesOf(3, (second) => saw(second) + second * 0.01),
    ).isPassed,
  )
})

t.test('slopes: a leak of 360 MiB an hour under a saw: fails', async (t) => {
  const verdict = judge(
    rule,
    samplesOf(3, (second) => saw(second) + second * 0.1),
  )
  t.notOk(verdict.isPassed)
  t.ok(verdict.slope > 300 && verdict.slope < 420, `${verdict.slope}`)
})

t.test('slopes: by the floor: a saw with long teeth passes, a leak below it fails', async (t) => {
  const floor: Rule = { ...rule, isFloor: true }
  const long = (second: number) => 80 + (second % 230) / 3
  t.notOk(
    judge(
      rule,
      samplesOf(1, (second) => (second < 360 ? 80 : long(second))),
    ).isPassed,
  )
  t.ok(judge(floor, samplesOf(3, long)).isPassed)
  t.notOk(
    judge(
      floor,
      samplesOf(3, (second) => long(second) + second * 0.12),
    ).isPassed,
  )
})

t.test('slopes: caches fill at the beginning of each life: passes', async (t) => {
  t.ok(
    judge(
      rule,
      samplesOf(3, (second) => Math.min(second, 100) * 5),
    ).isPassed,
  )
})

t.test(
  'slopes: over the run: a growth from life to life fails, within one it does not',
  async (t) => {
    const samples = samplesOf(6, (second, life) => saw(second) + 30 * life)
    t.notOk(judge({ ...rule, over: 'run' }, samples).isPassed)
    t.ok(judge(rule, samples).isPassed)
  },
)

t.test('slopes: a share of the value is noise, and a short run is not judged', async (t) => {
  const doubled = samplesOf(1, (second) => 100 + second / 5)
  t.notOk(judge(rule, doubled).isPassed)
  t.ok(judge({ ...rule, noiseShare: 2 }, doubled).isPassed)
  const { isPassed, isJudged } = judge({ ...rule, minutesMin: 11 }, doubled)
  t.strictSame([isPassed, isJudged], [true, false])
})

t.test('slopes: peaks: do not count', async (t) => {
  t.ok(
    judge(
      rule,
      samplesOf(3, (second) => (second % 130 === 0 ? 900 : 80)),
    ).isPassed,
  )
})
