// The results as one self-contained HTML page in light and dark, without scripts or external files.

import { openPercentiles, percentiles } from './generator.ts'
import { type LatencyRun, nameOf, stopText } from './latency.ts'
import { machineLines } from './machine.ts'
import { bars, linearAxis, lines, logAxis, type Row, rows } from './plot.ts'
import type { Results, ScenarioResult, Stall, Sweep } from './results.ts'

/** The target for the longest stall of the event loop. */
const stallAimMs = 10

const style = `
:root { color-scheme: light dark;
  --ground: #fbfaf8; --card: #ffffff; --ink: #21201c; --soft: #6b6860; --rule: #e6e3dc;
  --floor: #8d8a82; --forum: #2563c9; --redis: #c2410c; --postgres: #0f8a6d; --aim: #b42318; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #161614; --card: #1f1f1c; --ink: #edeae3; --soft: #a09c92; --rule: #34332e;
  --floor: #9b978d; --forum: #6ea3ff; --redis: #f08a5a; --postgres: #45c3a0; --aim: #ff8a7a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 40px 24px 80px; background: var(--ground);
  color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }
h1 { font-size: 28px; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 44px 0 4px; }
h3 { font-size: 14px; margin: 0 0 8px; }
p { margin: 0 0 12px; color: var(--soft); max-width: 76ch; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 18px;
  overflow-x: auto; }
.pair { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); }
svg { display: block; width: 100%; height: auto; min-width: 420px;
  font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .tick { fill: var(--soft); }
.grid { stroke: var(--rule); } .aim { stroke: var(--aim); stroke-width: 2; }
text.aim { fill: var(--aim); stroke: none; }
.side { stroke: var(--side); fill: var(--side); } .side text { stroke: none; fill: var(--side); }
.side polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.side line { stroke-width: 2; } .side rect { stroke: none; opacity: 0.85; }
.side .range { stroke: var(--ink); stroke-width: 1.5; opacity: 0.7; }
.side circle { stroke: var(--card); stroke-width: 1.5; }
.floor { --side: var(--floor); } .forum { --side: var(--forum); }
.redis { --side: var(--redis); } .postgres { --side: var(--postgres); }
.legend { display: flex; gap: 18px; margin: 0 0 10px; color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px;
  background: var(--side); }
table { border-collapse: collapse; width: 100%; font-size: 13px;
  font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--soft); font-weight: 500; padding: 4px 10px; }
td { text-align: right; padding: 4px 10px; border-top: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.name { color: var(--side); font-weight: 600; }
ul { margin: 8px 0 0; padding-left: 18px; color: var(--soft); font-size: 13px; }
`

export function page({ machine, scenarios, sweeps, stalls, latency }: Results): string {
  const about = machineLines(machine).map(escaped).join('<br>')
  const sections = [
    ...(scenarios.length > 0 ? [ratioSection(scenarios), latencySection(scenarios)] : []),
    latency.length > 0 ? fixedRateSection(latency) : '',
    sweeps.length > 0 ? sweepSection(sweeps) : '',
    stalls.length > 0 ? stallSection(stalls) : '',
    scenarios.length > 0 ? tableSection(scenarios) : '',
  ]
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent Forum: benchmark</title>
<style>${style}</style>
<h1>Agent Forum: benchmark</h1>
<p>${about}<br>${escaped(machine.at)}</p>
${sections.join('\n')}
</html>
`
}

function ratioSection(scenarios: readonly ScenarioResult[]): string {
  const all = scenarios.map(({ title, sides: [, forum], floorAim }): Row => {
    const { side, ratio, ratioMin: low, ratioMax: high, cpuRatio } = forum
    const text = `${ratio.toFixed(2)} of the floor (${low.toFixed(2)} to ${high.toFixed(2)})`
    const byCpu = { kind: 'dot', side: 'floor', at: cpuRatio } as const
    return {
      label: escaped(title),
      marks: [
        { kind: 'bar', side, to: ratio, low, high, text },
        { ...byCpu, text: `by processor time: ${cpuRatio.toFixed(2)}` },
        ...(floorAim === null
          ? []
          : [{ kind: 'aim', at: floorAim, text: `aim: ${floorAim}` } as const]),
      ],
    }
  })
  const tops = scenarios.map(({ sides: [, { ratioMax, cpuRatio }] }) =>
    Math.max(ratioMax, cpuRatio),
  )
  return section(
    'Throughput against the floor',
    'Bars: requests a second, as part of what a bare uWebSockets.js handler does with the same ' +
      'bytes in and out; the thin line is the spread of the rounds. Gray dots: the same by ' +
      'processor time for a request, which a shared machine disturbs less. Red lines: what is ' +
      'aimed at.',
    card(rows(all, linearAxis('of the floor', tops, 1))),
  )
}

function latencySection(scenarios: readonly ScenarioResult[]): string {
  const shownLatencies = (side: ScenarioResult['sides'][number]) =>
    percentiles.slice(0, -1).map((p) => side.latencyMs[p])
  const all = scenarios.map(({ title, sides }): Row => {
    const marks = sides.map((side, lane) => {
      const at = shownLatencies(side)
      const values = percentiles.flatMap((p) =>
        Number.isFinite(side.latencyMs[p]) ? [`p${p} ${side.latencyMs[p].toFixed(2)} ms`] : [],
      )
      return { kind: 'span', side: side.side, lane, at, text: values.join(', ') } as const
    })
    return { label: escaped(title), marks }
  })
  const values = scenarios.flatMap(({ sides }) => sides.flatMap(shownLatencies))
  return section(
    `Latency at ${scenarios[0]?.connections} connections`,
    'Dots from left to right: p50, p90, p99, p99.9. Every side is driven as fast as it answers, ' +
      'so these are latencies under full load.',
    card(legend(scenarios) + rows(all, logAxis('ms', values))),
  )
}

/** Returns a plot of the percentiles for each side, with a line for each rate, and all figures. */
function fixedRateSection(runs: readonly LatencyRun[]): string {
  const nameOfRun = ({ side, title, scenario }: LatencyRun) => `${scenario}: ${side}, ${title}`
  const names = [...new Set(runs.map(nameOfRun))]
  const values = runs.flatMap(({ latencyMs }) => Object.values(latencyMs))
  const plots = names.map((name) => {
    const group = runs.filter((run) => nameOfRun(run) === name)
    const all = group.map((run): Row => {
      const at = openPercentiles.map((p) => run.latencyMs[p])
      const text = openPercentiles.map((p, i) => `${nameOf(p)} ${at[i].toFixed(2)} ms`).join(', ')
      const label = `${run.share * 100} %: ${Math.round(run.rate).toLocaleString('en')}/s`
      return { label, marks: [{ kind: 'span', side: run.side, lane: 0, at, text }] }
    })
    const heads = ['rate', ...openPercentiles.map((p) => `${nameOf(p)} ms`), 'failed']
    const lines = group.map(({ share, latencyMs, errors }) => {
      const cells = openPercentiles.map((p) => latencyMs[p].toFixed(2))
      return [`${share * 100} %`, ...cells, `${errors}`].map((cell) => `<td>${cell}</td>`).join('')
    })
    const items = group.flatMap(({ share, stops, seconds }) =>
      stops.map((stop) => `<li>${share * 100} %: ${stopText(stop, seconds)}</li>`),
    )
    return card(
      `<h3>${escaped(name)}</h3>${rows(all, logAxis('ms', values))}` +
        `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>` +
        `${lines.map((line) => `<tr>${line}</tr>`).join('')}</table>` +
        (items.length === 0 ? '' : `<ul>${items.join('')}</ul>`),
    )
  })
  return section(
    'Latency at fixed rates',
    'Requests are due at a constant rate, in parts of what the side answered at full load, and ' +
      'their latency counts from then. Dots from left to right: p50, p90, p99, p99.9, p99.99, max.',
    plots.join(''),
  )
}

function sweepSection(sweeps: readonly Sweep[]): string {
  const plots = sweeps.map(({ title, sides }) => {
    const series = sides.map(({ side, points }) => ({
      name: side,
      points: points.map(({ connections, perSecond }) => [connections, perSecond] as const),
    }))
    const all = series.flatMap(({ points }) => points)
    const x = logAxis(
      'connections',
      all.map(([connections]) => connections),
    )
    const y = linearAxis(
      'requests/s',
      all.map(([, rate]) => rate),
    )
    const counts = [...new Set(all.map(([connections]) => connections))]
    const axis = { ...x, ticks: counts, max: Math.max(...counts), min: Math.min(...counts) }
    return card(`<h3>${escaped(title)}</h3>${lines(series, axis, y)}`)
  })
  const text = 'What more callers at once bring: answers that wait for one sync share it.'
  return section(
    'Throughput against connections',
    text,
    `<div class="pair">${plots.join('')}</div>`,
  )
}

function stallSection(stalls: readonly Stall[]): string {
  const points = stalls.map(({ atSeconds, stallMs }) => [atSeconds, stallMs] as const)
  const longest = Math.max(...stalls.map(({ stallMs }) => stallMs))
  const x = linearAxis(
    's',
    points.map(([at]) => at),
  )
  const y = linearAxis('ms', [longest], stallAimMs * 1.2)
  return section(
    'Stalls of the event loop over time',
    `How late the event loop ran a timer, at most, while the swarm kept it busy. Longest: ` +
      `${longest.toFixed(1)} ms.`,
    `<div class="pair">${card(bars({ name: 'forum', points }, x, y, stallAimMs))}</div>`,
  )
}

function tableSection(scenarios: readonly ScenarioResult[]): string {
  const heads = ['side', 'requests/s', 'of floor', 'p50 ms', 'p99 ms', 'p99.9 ms', 'cpu us', 'busy']
  const tables = scenarios.map(({ title, sides, verdicts }) => {
    const lines = sides.map((side) => {
      const { latencyMs, perSecond, ratio, cpuUsPerRequest, busy } = side
      const cells = [
        Math.round(perSecond).toLocaleString('en'),
        ratio.toFixed(2),
        ...(['50', '99', '99.9'] as const).map((p) => latencyMs[p]?.toFixed(2) ?? ''),
        cpuUsPerRequest.toFixed(1),
        `${Math.round(busy * 100)}%`,
      ].map((cell) => `<td>${cell.replace('NaN', '–')}</td>`)
      return `<tr><td class="name ${side.side}">${side.side}</td>${cells.join('')}</tr>`
    })
    const items = verdicts.map((verdict) => `<li>${escaped(verdict)}</li>`).join('')
    return card(
      `<h3>${escaped(title)}</h3><table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}` +
        `</tr>${lines.join('')}</table>${items === '' ? '' : `<ul>${items}</ul>`}`,
    )
  })
  return section('All figures', '', `<div class="pair">${tables.join('')}</div>`)
}

function legend(scenarios: readonly ScenarioResult[]): string {
  const names = [...new Set(scenarios.flatMap(({ sides }) => sides.map(({ side }) => side)))]
  const items = names.map((name) => `<span class="${name}"><i></i>${name}</span>`)
  return `<div class="legend">${items.join('')}</div>`
}

function section(title: string, text: string, inside: string): string {
  return `<h2>${title}</h2>\n${text === '' ? '' : `<p>${text}</p>\n`}${inside}`
}

function card(inside: string): string {
  return `<div class="card">${inside}</div>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
