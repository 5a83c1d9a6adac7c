// npm run soak -- [--hours 2] [--minutes N] [--kill-minutes 10] [--html soak.html]: a node under a
// steady load of all features (load.ts), which is killed and started again from time to time.
//
// Goal:   nothing grows that must not: memory, descriptors, latency, the lag of feeds, the log.
// Method: 64 MB of memory for text, one reader, and checkpoints every few minutes. Each ten seconds
//         everything is measured, and drawn by time on a page. At the end rules judge the slopes
//         (slopes.ts).
// Leaves out: more load than the machine carries easily, which benchmarks have (bench/).

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PlotLine, plot, plotStyle, plotWidth } from '../../src/clients/swarm/plot.ts'
import { html } from '../../src/people/html/html.ts'
import { ask, samples as parsed } from '../api/operators.ts'
import { Program, run } from '../api/process.ts'
import { makeCertificates } from '../forum/webhooks/receiver.ts'
import { freePort } from '../free-port.ts'
import { scriptFlags } from '../script-flags.ts'
import { Load } from './load.ts'
import { judge, median, type Rule, type Sample, type Verdict } from './slopes.ts'

const help = `npm run soak -- [flags]: a node under a steady load of all features

  --hours N          how long; default 2
  --minutes N        the same in minutes
  --kill-minutes N   the node is killed so often; default 10
  --rate N           requests a second; default 40
  --seed S           of the load; default 1
  --html FILE        the page with the plots; default soak.html
  -h, --help

Exit codes: 0 nothing grows, 1 something does or an answer was wrong, 64 a flag that cannot be used.
`

const flags = scriptFlags(help, ['hours', 'minutes', 'kill-minutes', 'rate', 'seed', 'html'])
const minutes = flags.number('minutes', 60 * flags.number('hours', 2))
const killMinutes = flags.number('kill-minutes', 10)
const rate = flags.number('rate', 40)
const file = flags.text('html', 'soak.html')

const MiB = 1024 * 1024
/**
 * A record adds about 350 bytes to the state and its indexes; a reader and the search have their
 * own. Growth of the text in memory, up to its limit, is not counted.
 */
const memory = { perHour: 24, perRecord: 512 / MiB, noise: 24, minutesMin: 5, isFloor: true }
const rules: readonly Rule[] = [
  rule('resident memory', 'MiB', 'life', memory),
  rule('heap', 'MiB', 'life', { ...memory, perHour: 12, noise: 16 }),
  rule('memory of the reader beside its heap', 'MiB', 'life', memory),
  // It may grow to four times what a collection leaves, for as long as half a life.
  rule('heap of the reader', 'MiB', 'life', { ...memory, perRecord: 0, noise: 48 }),
  rule('memory of the search', 'MiB', 'life', { ...memory, noise: 32 }),
  rule('descriptors', '', 'life', { noise: 12 }),
  rule('processor time', 'ms/answer', 'run', { noise: 1, noiseShare: 0.5, minutesMin: 10 }),
  rule('median latency', 'ms', 'run', { noise: 15, noiseShare: 2, minutesMin: 10 }),
  rule('lag of feeds', 'ms', 'run', { noise: 60, noiseShare: 2, minutesMin: 10 }),
  rule('log', 'MiB', 'run', { noise: 48 }),
]

function rule(
  name: string,
  unit: string,
  over: Rule['over'],
  limits: Partial<Rule> & Pick<Rule, 'noise'>,
): Rule {
  const none = { isFloor: false, perHour: 0, perRecord: 0, noiseShare: 0, minutesMin: 0 }
  return { name, unit, over, ...none, ...limits }
}

const directory = mkdtempSync(join(tmpdir(), 'agent-forum-soak-'))
const data = join(directory, 'data')
const certificates = makeCertificates()
const [port, opsPort] = [await freePort(), await freePort()]
let node: Program
let life = 0
process.once('exit', () => {
  certificates.remove()
  rmSync(directory, { recursive: true, force: true })
})

async function start(): Promise<void> {
  const serve = ['serve', '--port', `${port}`, '--ops-port', `${opsPort}`, '--data', data]
  const sizes = ['--text-memory-mb', '64', '--checkpoint-mb', '16', '--segment-mb', '16']
  const others = ['--readers', '1', '--webhook-allow-private', '--webhook-ca', certificates.caFile]
  const environment = { AGENT_FORUM_NO_SEARCH: 'off' }
  node = new Program([...serve, ...sizes, ...others], environment)
  await node.logged('readers_serving')
  life += 1
}

async function killAndStart(load: Load): Promise<void> {
  load.isDown = true
  await node.stop('SIGKILL')
  await start()
  load.isDown = false
}

function sizeOfFiles(folder: string, isMeant: (name: string) => boolean): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isMeant)
  const sizes = names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size)
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
}

/** The processor time and the answers at the sample before, and its life. */
let before = { life: 0, cpu: 0, answers: 0 }

/** Returns the milliseconds of processor time of an answer since the sample before. */
function timeOfAnswer(cpu: number, answers: number): number {
  const { cpu: earlier, answers: fewer, life: last } = before
  before = { life, cpu, answers }
  const spent = last === life ? cpu - earlier : cpu // the counters of a process begin at 0
  return answers === fewer ? 0 : (1000 * spent) / (answers - fewer)
}

/** Measures everything, and takes what the load has measured since the last time. */
async function measure(load: Load, second: number): Promise<Sample> {
  const of = parsed((await ask(opsPort, '/metrics')).text)
  const all = (beginning: string) => {
    const found = [...of].filter(([name]) => name === beginning || name.startsWith(`${beginning}{`))
    return found.reduce((sum, [, value]) => sum + (Number.isNaN(value) ? 0 : value), 0)
  }
  const text = of.get('agent_forum_text_bytes{where="memory"}')!
  const ofReader = (part: string) =>
    of.get(`agent_forum_reader_memory_bytes{reader="1",part="${part}"}`) ?? 0
  const reader = all('agent_forum_reader_resident_memory_bytes') - ofReader('text')
  const cpu = all('process_cpu_seconds_total') + all('agent_forum_reader_cpu_seconds_total')
  const { latencies, lags } = load
  load.latencies = []
  load.lags = []
  const slowest = [...latencies].sort((a, b) => a - b)
  const values = {
    'resident memory': (all('process_resident_memory_bytes') - text) / MiB,
    heap: all('nodejs_heap_size_used_bytes') / MiB,
    'memory of the reader beside its heap': (reader - ofReader('heap')) / MiB,
    'heap of the reader': ofReader('heap') / MiB,
    'memory of the search': all('agent_forum_search_resident_memory_bytes') / MiB,
    descriptors: all('process_open_fds'),
    'processor time': timeOfAnswer(cpu, load.answers),
    'median latency': latencies.length === 0 ? 0 : median(latencies),
    'p99 latency': slowest[Math.floor(slowest.length * 0.99)] ?? 0,
    'lag of feeds': lags.length === 0 ? 0 : median(lags),
    log: sizeOfFiles(data, (name) => name.endsWith('.wal')) / MiB,
    'all files': sizeOfFiles(data, () => true) / MiB,
    'text in memory': text / MiB,
  }
  return { second, life, records: all('agent_forum_journal_position'), values }
}

/** Removes a message, as an operator does, and reads it again as removed. */
async function moderate(load: Load): Promise<void> {
  const id = await load.someMessage()
  if (id === null) return
  const flags = ['--yes', '--no-wait', '--data', data]
  const { code, stderr } = await run(['admin', 'remove-message', id, ...flags])
  if (code !== 0) load.findings.push(`remove-message ${id}: ${stderr}`)
}

/** Samples until the end, and kills the node between its lives. */
async function sampleAll(load: Load, samples: Sample[]): Promise<void> {
  const everySeconds = Math.min(10, (minutes * 60) / 20)
  const begunMs = performance.now()
  const seconds = () => (performance.now() - begunMs) / 1000
  const lifeSeconds = Math.min(killMinutes, minutes / 2) * 60
  const lives = Math.max(2, Math.ceil(minutes / killMinutes))
  const isOver = () => seconds() >= minutes * 60 && life === lives
  for (let next = everySeconds; !isOver(); next += everySeconds) {
    await sleep(Math.max(0, (next - seconds()) * 1000))
    samples.push(await measure(load, seconds()))
    if (samples.length % 6 === 0) {
      await moderate(load)
      console.log(lineOf(samples.at(-1)!, load))
    }
    if (seconds() > life * lifeSeconds && life < lives) {
      await killAndStart(load)
      console.log(`killed, and back in life ${life}`)
    }
  }
}

function lineOf({ second, records, values }: Sample, { answers, lost }: Load): string {
  const shown = Object.entries(values).map(([name, value]) => `${name} ${value.toFixed(1)}`)
  const counts = `${records} records, ${answers} answers, ${lost} lost`
  return `${Math.round(second)} s: ${counts}; ${shown.join(', ')}`
}

function sentenceOf(judged: Verdict): string {
  const { rule, slope, records, allowed, excess, isJudged, isPassed } = judged
  const { name, unit, over, noise, perRecord } = rule
  const each = perRecord > 0 ? `, ${((slope / records) * MiB).toFixed(0)} bytes a record,` : ''
  const slopes = `${slope.toFixed(1)} ${unit} an hour${each} of ${allowed.toFixed(1)} allowed`
  const beyond = `${Math.max(0, excess).toFixed(1)} beyond, noise ${noise}`
  const verdict = isPassed ? (isJudged ? 'ok' : 'too short to judge') : 'GROWS'
  return `${verdict}: ${name}, by ${over}: ${slopes} (${beyond})`
}

const pageStyle = `
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;padding:0 1rem}
body{max-width:${plotWidth + 40}px}:root{color-scheme:light dark}`

function pageOf(samples: readonly Sample[], verdicts: readonly Verdict[], load: Load): string {
  const moments = samples.map((each) => ({ ...each, phase: `life ${each.life}` }))
  type Moment = (typeof moments)[number]
  const of = (name: string) => (moment: Moment) => moment.values[name]!
  const lines = (...names: string[]): PlotLine<Moment>[] =>
    names.map((name, n) => [['a', 'b', 'c'][n]!, name, of(name)])
  const plots: [string, string[]][] = [
    [
      'Memory in MiB',
      ['resident memory', 'memory of the reader beside its heap', 'memory of the search'],
    ],
    ['Heaps and text in memory in MiB', ['heap', 'heap of the reader', 'text in memory']],
    ['Descriptors', ['descriptors']],
    ['Processor time of an answer in ms', ['processor time']],
    ['Latency in ms', ['median latency', 'p99 latency']],
    ['Lag of feeds in ms', ['lag of feeds']],
    ['Files in MiB', ['log', 'all files']],
  ]
  const { answers, lost, wakeups, findings } = load
  const sections = plots.map(([title, names]) => {
    return html`<h2>${title}</h2>${plot(moments, lines(...names))}`
  })
  const items = (texts: readonly string[]) => texts.map((text) => html`<li>${text}</li>`)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A soak</title>
<style>${pageStyle}${plotStyle}</style></head>
<body><h1>A node under a steady load</h1>
<p>${minutes} minutes, ${rate} requests a second, killed every ${killMinutes} minutes.
${answers} answers, ${lost} lost, ${wakeups} wakeups, ${samples.at(-1)!.records} records.</p>
<ul>${items(verdicts.map(sentenceOf))}</ul>
<ul>${items(findings)}</ul>
${sections}
</body></html>
`.text
}

const load = new Load(`http://127.0.0.1:${port}`, flags.number('seed', 1), certificates)
await start()
await load.prepare()
const running = load.run(rate)
const samples: Sample[] = []
await sampleAll(load, samples)
load.stop()
await running
const { code } = await node!.stop('SIGTERM')
if (code !== 0) load.findings.push(`the node stopped with ${code}: ${node!.stderr}`)
await load.close()

const verdicts = rules.map((each) => judge(each, samples))
writeFileSync(file, pageOf(samples, verdicts, load))
for (const verdict of verdicts) console.log(sentenceOf(verdict))
for (const finding of load.findings) console.log(`finding: ${finding}`)
const failures = verdicts.filter(({ isPassed }) => !isPassed).length
console.log(
  `${life} lives, ${load.answers} answers, ${load.lost} lost, ${load.wakeups} wakeups: ${file}`,
)
process.exitCode = failures === 0 && load.findings.length === 0 ? 0 : 1
