// A plot of the seconds of a run as SVG: lines over a time axis, and below it the phases.
//
//   2,000 ┤        ╭──╮
//   1,000 ┤   ╭────╯  ╰──        ticks are 1, 2 or 5 times a power of ten; those of the time
//       0 ┼───┴────┴────┴──      are what a clock shows
//         0  0:30 1:00 1:30
//         register  publish      a name without room is shown by its line, when it is pointed at

import { type Html, html } from '../../people/html/html.ts'

export const plotWidth = 900
const height = 200
/** The edges of the lines, which leave room for the numbers and the names of the phases. */
const [left, right, top] = [60, 20, 10]
const [timesAt, phasesAt] = [height + 16, height + 34]
/** The width of a character, at most. */
const characterWidth = 6.5

const valueTicks = 4
const timeTicks = 10
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]

/** The style of the plots. It contains nothing that needs escaping. */
export const plotStyle = `
svg{width:100%;height:auto}text{font-size:11px;fill:currentColor}
.axis{stroke:currentColor;opacity:.25}.phase{stroke:currentColor;opacity:.4;stroke-dasharray:2 3}
polyline{fill:none;stroke-width:1.5}.a{stroke:#2563eb}.b{stroke:#d97706}.c{stroke:#dc2626}
.key.a{color:#2563eb}.key.b{color:#d97706}.key.c{color:#dc2626}`

/** A time of a run, and the phase that it belongs to. */
interface Moment {
  second: number
  phase: string
}

export type PlotLine<T> = [colour: string, name: string, value: (moment: T) => number]

export function plot<T extends Moment>(
  intervals: readonly T[],
  lines: readonly PlotLine<T>[],
): Html {
  if (intervals.length < 2) return html`<p>This run was too short to plot.</p>`
  // Not as arguments of one call: a run of twelve hours has more than that takes.
  const greatest = (of: readonly number[]) => of.reduce((most, each) => Math.max(most, each), 0)
  const end = Math.max(1, greatest(intervals.map(({ second }) => second)))
  const most = greatest(lines.map(([, , value]) => greatest(intervals.map(value))))
  const values = ticksTo(most)
  const highest = values.at(-1)!
  const x = (second: number) => (left + (second / end) * (plotWidth - left - right)).toFixed(1)
  const y = (value: number) => (height - (value / highest) * (height - top)).toFixed(1)
  const drawn = lines.map(([colour, , value]) => {
    const points = intervals.map((each) => `${x(each.second)},${y(value(each))}`).join(' ')
    return html`<polyline class="${colour}" points="${points}"/>`
  })
  const across = values.map((value) => {
    const at = y(value)
    return html`<line class="axis" x1="${left}" x2="${plotWidth - right}" y1="${at}" y2="${at}"/>
<text x="${left - 8}" y="${at}" text-anchor="end" dominant-baseline="middle">${inWords(
      value,
    )}</text>
`
  })
  const times = timesTo(end).map((second) => {
    const at = x(second)
    return html`<line class="axis" x1="${at}" x2="${at}" y1="${height}" y2="${height + 4}"/>
<text x="${at}" y="${timesAt}" text-anchor="middle">${asTime(second)}</text>
`
  })
  const keys = lines.map(([colour, name]) => html`<span class="key ${colour}">${name}</span> `)
  return html`<p>${keys}</p>
<svg viewBox="0 0 ${plotWidth} ${phasesAt + 6}" role="img">${across}${times}${drawn}
${phaseNames(intervals, x)}</svg>`
}

/** Returns 0 and multiples of a round number, of which only the last is not below `most`. */
export function ticksTo(most: number): number[] {
  if (most <= 0) return [0, 1]
  const power = 10 ** Math.floor(Math.log10(most / valueTicks))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each * valueTicks >= most)!
  const count = Math.ceil(Number((most / step).toPrecision(9)))
  return Array.from({ length: count + 1 }, (_, n) => Number((n * step).toPrecision(9)))
}

/** Returns the seconds to write on the axis of a run that ends at `end`. */
export function timesTo(end: number): number[] {
  const last = timeSteps.at(-1)!
  const step =
    timeSteps.find((each) => each * timeTicks >= end) ?? Math.ceil(end / timeTicks / last) * last
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, n) => n * step)
}

/** `0:30`, `1:01:30`. */
export function asTime(second: number): string {
  const two = (value: number) => `${value}`.padStart(2, '0')
  const [hours, minutes] = [Math.floor(second / 3600), Math.floor(second / 60) % 60]
  const seconds = two(second % 60)
  return hours > 0 ? `${hours}:${two(minutes)}:${seconds}` : `${minutes}:${seconds}`
}

/** Every number of an axis is written out, because beside each other these show their steps. */
function inWords(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 6 })
}

/** Marks where phases begin, and names them there, the longest first, as far as there is room. */
function phaseNames(intervals: readonly Moment[], x: (second: number) => string): Html[] {
  const starts = intervals.flatMap(({ phase }, n) => {
    const second = intervals[n - 1]?.second ?? 0
    return phase === intervals[n - 1]?.phase ? [] : { phase, second, length: 0 }
  })
  for (const [n, start] of starts.entries()) {
    start.length = (starts[n + 1] ?? intervals.at(-1)!).second - start.second
  }
  const named: { begin: number; end: number; phase: string }[] = []
  for (const { phase, second } of starts.toSorted((a, b) => b.length - a.length)) {
    const width = (phase.length + 1) * characterWidth
    const begin = Number(x(second)) + 3
    const end = begin + width
    if (end <= plotWidth && named.every((each) => end <= each.begin || begin >= each.end)) {
      named.push({ begin, end, phase })
    }
  }
  return [
    ...starts.map(({ second, phase }) => {
      const at = x(second)
      return html`<line class="phase" x1="${at}" x2="${at}" y1="${top}" y2="${phasesAt + 2}">
<title>${phase}</title></line>`
    }),
    ...named.map(
      ({ begin, phase }) => html`<text x="${begin.toFixed(1)}" y="${phasesAt}">${phase}</text>
`,
    ),
  ]
}
