// One chart of a panel: a canvas that uPlot draws, with a description for people who cannot see it,
// and a legend with the current values or those under the pointer.
//
// C1. Colors come from the style sheet, also after the scheme has changed between light and dark.
// C2. All charts share their time axis and their cursor.

import type Plot from 'uplot'
import { element } from './elements.ts'
import type { History } from './history.ts'
import { type Chart, type Line, samplesMax } from './status.ts'
import { clock, clockWithSeconds, type Unit, type UnitName, units } from './units.ts'

/** The global of uplot.js, which the page loads earlier. */
declare const uPlot: typeof Plot

/** A limit is shown once a value reaches a quarter of it. */
const near = 4
/** The time axis covers at least this many seconds, even if the node is younger. */
const shownMin = 60
/** The width of the value axis, with room for its widest label. */
const axisWidth = 62
/** The steps between labels of the value axis: whole for counts, powers of two for bytes. */
const steps = new Map<UnitName, number[]>([
  ['count', Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat()],
  ['bytes', Array.from({ length: 48 }, (_, power) => 2 ** power)],
])

/** The history with the time of the node's start, in seconds since 1970 by this browser's clock. */
export interface Timeline {
  history: History
  startedAt: number
}

export class ChartView {
  readonly #canvas = element('div', { class: 'chart', role: 'img' })
  readonly #title = element('p', { class: 'caption' })
  readonly #noData = element('p', { class: 'no-data' })
  readonly #legend = element('ul', { class: 'legend' })
  readonly #timeline: Timeline
  #chart: Chart
  #plot: Plot | null = null
  /** The index of the sample under the pointer, or null. */
  #cursor: number | null = null

  /** Replaces what is in `place`. */
  constructor(place: HTMLElement, chart: Chart, timeline: Timeline) {
    this.#chart = chart
    this.#timeline = timeline
    const box = element('div', { class: 'box' }, [this.#canvas, this.#noData])
    place.replaceChildren(this.#title, box, this.#legend)
    new ResizeObserver(() => this.#resize()).observe(this.#canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#remove()
      this.#renew()
    })
  }

  /** Draws the chart with the current samples. */
  update(chart: Chart): void {
    const isOther = keyOf(chart) !== keyOf(this.#chart)
    this.#chart = chart
    if (isOther) this.#remove()
    this.#renew()
  }

  #renew(): void {
    const { title, lines, noData } = this.#chart
    this.#title.textContent = title
    this.#plot ??= new uPlot(this.#options(), this.#data(), this.#canvas)
    this.#plot.setData(this.#data())
    const isEmpty = !lines.some((line) => this.#values(line).some((value) => value !== null))
    this.#noData.textContent = isEmpty ? noData : ''
    const words = isEmpty ? [noData] : lines.map((line) => this.#words(line))
    this.#canvas.ariaLabel = `${title}, last ten minutes: ${words.join('; ')}`
    this.#renewLegend()
  }

  #remove(): void {
    this.#plot?.destroy()
    this.#plot = null
    this.#cursor = null
  }

  get #unit(): Unit {
    return units[this.#chart.unit]
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas
    if (width > 0) this.#plot?.setSize({ width, height })
  }

  #values({ column }: Line): (number | null)[] {
    return this.#timeline.history.column(column)
  }

  #data(): Plot.AlignedData {
    const { history, startedAt } = this.#timeline
    const times = history.at.map((at) => startedAt + at)
    const { lines } = this.#chart
    const limits = limitsOf(lines).map((max) => history.at.map(() => max))
    return [times, ...lines.map((line) => this.#values(line)), ...limits]
  }

  /** Returns the top of the value axis. Limits are included if they are near. */
  #top(): number {
    const { lines } = this.#chart
    const highestOf = (line: Line) => Math.max(0, ...this.#values(line).map((value) => value ?? 0))
    const highest = Math.max(0, ...lines.map(highestOf))
    return 1.05 * Math.max(highest, ...limitsOf(lines).filter((limit) => limit <= near * highest))
  }

  /** Describes the line in words, for screen readers. */
  #words(line: Line): string {
    const unit = this.#unit
    const values = this.#values(line)
    const highest = Math.max(...values.map((value) => value ?? 0))
    return `${line.label} now ${unit(values.at(-1))}, at most ${unit(highest)}`
  }

  #renewLegend(): void {
    const { lines } = this.#chart
    const items = lines.map((line, i) => {
      const swatch = element('span', { class: `swatch color-${i}` })
      const value = this.#unit(this.#values(line).at(this.#cursor ?? -1))
      const limit = line.max === undefined ? '' : ` of ${this.#unit(line.max)}`
      return element('li', {}, [swatch, `${line.label} `, element('b', {}, [value, limit])])
    })
    const at = this.#cursor === null ? undefined : this.#timeline.history.at[this.#cursor]
    if (at !== undefined) {
      const time = clockWithSeconds.format((this.#timeline.startedAt + at) * 1000)
      items.unshift(element('li', {}, [`at ${time}`]))
    }
    this.#legend.replaceChildren(...items)
  }

  #options(): Plot.Options {
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
    const { lines, unit } = this.#chart
    const axis = {
      stroke: color('soft'),
      font: '11px system-ui, sans-serif',
      ticks: { show: false },
    }
    const grid = { stroke: color('line'), width: 1 }
    const plain = { width: 1.5, points: { show: false } }
    const series = lines.map((_, i): Plot.Series => {
      const stroke = color(`line-${i + 1}`)
      return { ...plain, stroke, ...(i === 0 && { fill: `${stroke}1f` }) }
    })
    const limits = limitsOf(lines).map(() => ({ ...plain, stroke: color('soft'), dash: [4, 3] }))
    return {
      width: this.#canvas.clientWidth || 320,
      height: this.#canvas.clientHeight || 160,
      padding: [8, 20, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: 'dashboard' },
        drag: { x: false, y: false },
        points: { size: 6 },
        y: false,
      },
      scales: {
        x: { range: (_, oldest, newest) => [shownFrom(oldest, newest), newest] },
        y: { range: () => [0, this.#top() || smallest(unit)] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 26, space: 80, values: timesOf },
        {
          ...axis,
          grid,
          size: axisWidth,
          ...(steps.has(unit) ? { incrs: steps.get(unit)! } : {}),
          values: (_, at) => at.map(this.#unit),
        },
      ],
      series: [{}, ...series, ...limits],
      hooks: {
        setCursor: [({ cursor }) => this.#point(cursor.idx ?? null)],
        drawAxes: [(plot) => this.#drawCheckpoints(plot, color('soft'))],
      },
    }
  }

  #point(sample: number | null): void {
    if (sample === this.#cursor) return
    this.#cursor = sample
    this.#renewLegend()
  }

  /** Marks when checkpoints were taken, because they may explain a peak. */
  #drawCheckpoints(plot: Plot, stroke: string): void {
    const { history, startedAt } = this.#timeline
    const { ctx, bbox } = plot
    ctx.save()
    ctx.strokeStyle = stroke
    ctx.lineWidth = devicePixelRatio
    ctx.setLineDash([devicePixelRatio, 3 * devicePixelRatio])
    ctx.beginPath()
    for (const [i, taken] of history.column('checkpoints').entries()) {
      if (!taken) continue
      const x = plot.valToPos(startedAt + history.at[i], 'x', true)
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + bbox.height)
    }
    ctx.stroke()
    ctx.restore()
  }
}

/** Returns the labels of the time axis, with seconds if there are several labels in a minute. */
function timesOf(
  _plot: Plot,
  at: number[],
  _axis: number,
  _space: number,
  seconds: number,
): string[] {
  return at.map((at) => (seconds < 60 ? clockWithSeconds : clock).format(at * 1000))
}

/**
 * Returns the beginning of the time axis: ten minutes ago, or the oldest sample of a young node.
 */
function shownFrom(oldest: number, newest: number): number {
  return Math.max(newest - samplesMax, Math.min(oldest, newest - shownMin))
}

/** Returns the top of the value axis of a chart without values. */
function smallest(unit: UnitName): number {
  return unit === 'bytes' ? 2 ** 20 : unit === 'latency' ? 0.001 : 1
}

/** Returns the limits of these lines, which are drawn dashed. */
function limitsOf(lines: readonly Line[]): number[] {
  return lines.flatMap(({ max }) => (max == null ? [] : [max]))
}

function keyOf({ lines }: Chart): string {
  return lines.map(({ label, column, max }) => `${label}=${column}<${max}`).join()
}

const [sparkWidth, sparkHeight] = [120, 28]
const svg = 'http://www.w3.org/2000/svg'

/**
 * Draws the small lines beside the figures at the top: the last ten minutes of each, as far as they
 * are known, between zero and their highest value.
 */
export function drawSparks(history: History): void {
  for (const place of document.querySelectorAll<HTMLElement>('[data-column]')) {
    const values = history.column(place.dataset.column!)
    const highest = Math.max(...values.map((value) => value ?? 0))
    const step = sparkWidth / Math.max(1, values.length - 1)
    const path = values.map((value, i) => {
      if (value === null) return ''
      const isFirst = i === 0 || values[i - 1] === null
      const y = highest === 0 ? sparkHeight : sparkHeight * (1 - value / highest)
      return `${isFirst ? 'M' : 'L'}${(i * step).toFixed(1)} ${y.toFixed(1)}`
    })
    const line = document.createElementNS(svg, 'path')
    line.setAttribute('d', path.join(''))
    const picture = document.createElementNS(svg, 'svg')
    picture.setAttribute('viewBox', `0 -1 ${sparkWidth} ${sparkHeight + 2}`)
    picture.setAttribute('preserveAspectRatio', 'none')
    picture.append(line)
    place.replaceChildren(picture)
  }
}
