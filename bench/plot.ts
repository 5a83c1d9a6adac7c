// Plots as SVG, without a library or external files. Colours and fonts come from the page's style
// (page.ts): a side's class determines its colour, so light and dark need no second plot.

export interface Axis {
  label: string
  isLog: boolean
  min: number
  max: number
  ticks: readonly number[]
}

export interface Series {
  /** The name of a side, which is its class and its label. */
  name: string
  points: readonly (readonly [x: number, y: number])[]
}

type Scale = (value: number) => number

const width = 560
const height = 280
const margin = { top: 12, right: 84, bottom: 40, left: 64 }

/** Returns an axis for positive values, with ticks at 1, 2 and 5 times powers of ten. */
export function logAxis(label: string, values: readonly number[]): Axis {
  const known = values.filter((value) => value > 0)
  const ticks = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7].flatMap((power) =>
    [1, 2, 5].map((step) => Number(`${step}e${power}`)),
  )
  const min = ticks.findLast((tick) => tick <= Math.min(...known)) ?? ticks[0]
  const max = ticks.find((tick) => tick >= Math.max(...known) && tick > min) ?? ticks.at(-1)!
  const within = ticks.filter((tick) => tick >= min && tick <= max)
  const decades = within.filter((tick) => /^1(?:e|0*$)|^0\.0*1$/.test(`${tick}`))
  return { label, isLog: true, min, max, ticks: within.length > 10 ? decades : within }
}

/** Returns an axis from zero, with about five round ticks. */
export function linearAxis(label: string, values: readonly number[], least = 0): Axis {
  const top = Math.max(least, ...values.filter(Number.isFinite))
  const power = 10 ** Math.floor(Math.log10(top / 4))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => top / size <= 6)!
  const count = Math.ceil(top / step - 1e-9)
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
  return { label, isLog: false, min: 0, max: ticks.at(-1)!, ticks }
}

/** Draws a line for each series, labelled at its end. */
export function lines(series: readonly Series[], x: Axis, y: Axis): string {
  const [toX, toY] = scales(x, y)
  const ends = spreadOut(series.map(({ points }) => toY(points.at(-1)![1])))
  const drawn = series.map(({ name, points }, i) => {
    const at = points.map(([px, py]) => `${toX(px).toFixed(1)},${toY(py).toFixed(1)}`)
    const marks = points.map(([px, py]) => {
      const text = `${name}: ${px} ${x.label}: ${short(py)} ${y.label}`
      return dot(toX(px), toY(py), text)
    })
    const label = `<text x="${toX(points.at(-1)![0]) + 10}" y="${ends[i] + 4}">${name}</text>`
    const line = `<polyline points="${at.join(' ')}"/>`
    return `<g class="side ${name}">${line}${marks.join('')}${label}</g>`
  })
  return svg(`${grid(x, y, toX, toY)}${drawn.join('')}`, height)
}

/** Draws a bar for each moment. */
export function bars({ name, points }: Series, x: Axis, y: Axis, limit: number): string {
  const [toX, toY] = scales(x, y)
  const wide = Math.max(1, (toX(x.max) - toX(x.min)) / points.length - 2)
  const drawn = points.map(([px, py]) => {
    const top = toY(py)
    const text = `${px.toFixed(2)} ${x.label}: ${py.toFixed(1)} ${y.label}`
    const [left, high] = [toX(px) - wide / 2, toY(0) - top].map((value) => value.toFixed(1))
    const place = `x="${left}" y="${top.toFixed(1)}" width="${wide.toFixed(1)}" height="${high}"`
    return `<rect ${place}>${title(text)}</rect>`
  })
  const line =
    `<line class="aim" x1="${margin.left}" x2="${width - margin.right}" y1="${toY(limit)}" ` +
    `y2="${toY(limit)}"/><text class="aim" x="${width - margin.right + 6}" ` +
    `y="${toY(limit) + 4}">aim: ${limit} ms</text>`
  return svg(`${grid(x, y, toX, toY)}<g class="side ${name}">${drawn.join('')}</g>${line}`, height)
}

export interface Row {
  label: string
  marks: readonly RowMark[]
}

export type RowMark =
  | { kind: 'bar'; side: string; to: number; low: number; high: number; text: string }
  | { kind: 'dot'; side: string; at: number; text: string }
  | { kind: 'aim'; at: number; text: string }
  /** Points on a separate line within the row. */
  | { kind: 'span'; side: string; lane: number; at: readonly number[]; text: string }

const rowWidth = 920
const rowLabels = 300
const rowEnd = 60
const laneHeight = 12

/** Draws a row for each label, all above one axis. */
export function rows(all: readonly Row[], axis: Axis): string {
  const tops = [8]
  for (const { marks } of all) {
    const lanes = Math.max(1, marks.filter(({ kind }) => kind === 'span').length)
    tops.push(tops.at(-1)! + 16 + lanes * laneHeight)
  }
  const bottom = tops.at(-1)!
  const toX = scale(axis, rowLabels, rowWidth - rowEnd)
  const ticks = axis.ticks.map(
    (tick) =>
      `<line class="grid" x1="${toX(tick)}" x2="${toX(tick)}" y1="4" y2="${bottom}"/>` +
      tickText(toX(tick), bottom + 16, short(tick)),
  )
  const drawn = all.map(({ label, marks }, i) => {
    const middle = (tops[i] + tops[i + 1]) / 2
    const text = `<text x="${rowLabels - 12}" y="${middle + 4}" text-anchor="end">${label}</text>`
    return text + marks.map((mark) => drawMark(mark, toX, tops[i], middle)).join('')
  })
  const name = tickText((rowLabels + rowWidth - rowEnd) / 2, bottom + 34, axis.label)
  return svg(`${ticks.join('')}${drawn.join('')}${name}`, bottom + 42, rowWidth)
}

function drawMark(mark: RowMark, toX: Scale, top: number, middle: number): string {
  if (mark.kind === 'aim') {
    const x = toX(mark.at)
    const ends = `x1="${x}" x2="${x}" y1="${middle - 10}" y2="${middle + 10}"`
    return `<line class="aim" ${ends}>${title(mark.text)}</line>`
  }
  const open = `<g class="side ${mark.side}">`
  if (mark.kind === 'dot') return `${open}${dot(toX(mark.at), middle, mark.text)}</g>`
  if (mark.kind === 'bar') {
    const [start, end, low, high] = [0, mark.to, mark.low, mark.high].map(toX)
    return (
      `${open}<rect rx="2" x="${start}" y="${middle - 6}" width="${end - start}" height="12">` +
      `${title(mark.text)}</rect><line class="range" x1="${low}" x2="${high}" y1="${middle}" ` +
      `y2="${middle}"/><text text-anchor="end" x="${rowWidth - 8}" y="${middle + 4}">` +
      `${mark.to.toFixed(2)}</text></g>`
    )
  }
  const y = top + 14 + mark.lane * laneHeight
  const at = mark.at.filter(Number.isFinite).map(toX)
  const dots = at.map((x) => dot(x, y, mark.text))
  return `${open}<line x1="${at[0]}" x2="${at.at(-1)}" y1="${y}" y2="${y}"/>${dots.join('')}</g>`
}

function scales(x: Axis, y: Axis): [Scale, Scale] {
  return [scale(x, margin.left, width - margin.right), scale(y, height - margin.bottom, margin.top)]
}

function scale({ isLog, min, max }: Axis, from: number, to: number): Scale {
  const place = isLog ? Math.log10 : (value: number) => value
  const [low, high] = [place(min), place(max)]
  return (value) => {
    const part = (place(isLog ? Math.max(value, min) : value) - low) / (high - low)
    return from + Math.min(1, part) * (to - from)
  }
}

function grid(x: Axis, y: Axis, toX: Scale, toY: Scale): string {
  const bottom = height - margin.bottom
  const right = width - margin.right
  const across = y.ticks.map((tick) => {
    const at = toY(tick)
    const line = `<line class="grid" x1="${margin.left}" x2="${right}" y1="${at}" y2="${at}"/>`
    return line + tickText(margin.left - 8, at + 4, short(tick), 'end')
  })
  const below = x.ticks.map((tick) => tickText(toX(tick), bottom + 16, short(tick)))
  const names =
    tickText((margin.left + right) / 2, height - 6, x.label) +
    `<text class="tick" text-anchor="middle" ` +
    `transform="translate(12 ${bottom / 2 + 6}) rotate(-90)">${y.label}</text>`
  return `${across.join('')}${below.join('')}${names}`
}

function tickText(x: number, y: number, text: string, anchor = 'middle'): string {
  return `<text class="tick" text-anchor="${anchor}" x="${x}" y="${y}">${text}</text>`
}

/** Returns these heights of labels, moved apart where the labels would overlap. */
function spreadOut(heights: readonly number[]): number[] {
  const apart = 14
  const placed = [...heights]
  const order = [...heights.keys()].sort((a, b) => heights[a] - heights[b])
  for (let i = 1; i < order.length; i++) {
    placed[order[i]] = Math.max(placed[order[i]], placed[order[i - 1]] + apart)
  }
  return placed
}

/** 1200000 → 1.2M */
export function short(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`
  return `${Number(value.toPrecision(3))}`
}

function dot(x: number, y: number, text: string): string {
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4">${title(text)}</circle>`
}

function title(text: string): string {
  return `<title>${text}</title>`
}

function svg(inside: string, tall: number, wide = width): string {
  return `<svg viewBox="0 0 ${wide} ${tall}" role="img">${inside}</svg>`
}
