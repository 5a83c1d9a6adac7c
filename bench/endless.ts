// Question:   does a node with little memory continue to accept replies at full speed?
// Compares:   memory, speed and refusals at the beginning and at the end.
// Fixed:      64 connections that post replies of 300 bytes to 1,000 threads; `--memory-mb 3072`,
//             durability always, server on one core, load on another.
// Reports:    every ten seconds the messages, replies/s, requests refused or failed and those
//             answered late, resident memory, and text in memory and on disk; at the end, before a
//             restart and after it, whether each acknowledged reply is counted, and whether a
//             sample of the threads can be read whole, each message as it was sent.
// Leaves out: reads beside the writes.
// Smoke:      test/bench/scale.test.ts, with one second.
//
// Run:        node dist/bench/endless.js --help

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { helpFlag, readArgs } from '../src/base/arguments.ts'
import { UsageError } from './options.ts'
import { contentOf, type Population, populate, usualSize } from './population.ts'
import { residentBytes } from './process.ts'
import { scenarios } from './scenarios.ts'
import { type Forum, sender, startForum } from './sides.ts'

const presets = {
  seconds: '1200',
  'memory-mb': '3072',
  'text-memory-mb': '',
  connections: '64',
  threads: '40',
  dir: tmpdir(),
  json: '',
}

const help = `node dist/bench/endless.js [flags]

  --seconds N          how long replies are posted
  --memory-mb MB, --text-memory-mb MB   as the server's
  --connections N      that post
  --threads N          of 1,000, to be read whole at the end
  --dir DIR            where the data goes
  --json FILE          writes what was seen as JSON too
  -h, --help

Presets: --seconds 1200 --memory-mb 3072 --connections 64 --threads 40
`

const stepSeconds = 10
const pageMessages = 100
const mb = 1e6
const say = (line: string) => process.stdout.write(`${line}\n`)

interface Step {
  atSeconds: number
  messages: number
  perSecond: number
  failed: number
  /** Answered, but only after the generator had counted a timeout. */
  late: number
  residentMb: number
  textMb: number
  textOnDiskMb: number
}

async function run(args: string[]): Promise<number> {
  const options = Object.fromEntries(
    Object.keys(presets).map((name) => [name, { type: 'string' } as const]),
  )
  const refuse = (sentence: string) => new UsageError(sentence)
  const { values } = readArgs({ args, options: { ...options, help: helpFlag } }, refuse)
  if (values.help) {
    process.stdout.write(help)
    return 0
  }
  const settings = { ...presets, ...values } as typeof presets
  const dir = mkdtempSync(join(settings.dir, 'agent-forum-endless-'))
  try {
    return await measure(settings, dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

async function measure(settings: typeof presets, dir: string): Promise<number> {
  const data = join(dir, 'data')
  const population = await populate(data, { ...usualSize, identities: 1_000, messages: 2_000 })
  const names = ['memory-mb', 'text-memory-mb'] as const
  const flags = names.flatMap((name) =>
    settings[name] === '' ? [] : [`--${name}`, settings[name]],
  )
  const forum = await startForum(data, flags)
  const steps = await post(forum, population, dir, settings)
  const threads = population.threads.slice(0, Number(settings.threads)).map(({ id }) => id)
  const wrong = await check(forum, population, threads, steps)
  await forum.stop('SIGKILL')
  const again = await startForum(data, flags)
  say('killed and started again')
  wrong.push(...(await check(again, population, threads, steps)))
  await again.stop()
  for (const sentence of wrong) say(`WRONG: ${sentence}`)
  if (settings.json !== '') writeFileSync(settings.json, JSON.stringify({ steps, wrong }, null, 2))
  return wrong.length === 0 ? 0 : 1
}

/** Posts replies in steps of ten seconds, and reports each step. */
async function post(
  forum: Forum,
  population: Population,
  dir: string,
  settings: typeof presets,
): Promise<Step[]> {
  const scenario = scenarios.find(({ name }) => name === 'reply')!
  const side = (await sender(dir, scenario, population, forum))('forum', forum)
  const steps: Step[] = []
  const begun = performance.now()
  const until = begun + Number(settings.seconds) * 1e3
  for (let round = 0; performance.now() < until; round++) {
    const left = Math.ceil((until - performance.now()) / 1e3)
    const seconds = Math.min(stepSeconds, left)
    const load = await side.load({ connections: Number(settings.connections), seconds }, round)
    const metrics = await forum.metrics()
    const text = (where: string) => metrics.get(`agent_forum_text_bytes{where="${where}"}`)
    const step = {
      atSeconds: Math.round((performance.now() - begun) / 1e3),
      messages: metrics.get('agent_forum_messages')!,
      perSecond: Math.round(load.requests / load.seconds),
      failed: load.errors - load.timeouts,
      late: load.timeouts,
      residentMb: Math.round(residentBytes(forum.pid) / mb),
      textMb: Math.round((text('memory') ?? metrics.get('agent_forum_arena_bytes')!) / mb),
      textOnDiskMb: Math.round((text('disk') ?? 0) / mb),
    }
    steps.push(step)
    const { atSeconds, messages, perSecond, failed, late } = step
    const { residentMb, textMb, textOnDiskMb } = step
    say(
      `${atSeconds} s: ${messages.toLocaleString('en')} messages, ${perSecond}/s, ` +
        `${failed} refused or failed, ${late} late; ${residentMb} MB resident, ` +
        `text ${textMb} MB in memory, ${textOnDiskMb} MB on disk`,
    )
  }
  return steps
}

/** Returns sentences about what is wrong with what can be read now. */
async function check(
  forum: Forum,
  population: Population,
  threads: readonly string[],
  steps: readonly Step[],
): Promise<string[]> {
  const wrong: string[] = []
  const failed = steps.reduce((sum, step) => sum + step.failed, 0)
  if (failed > 0) wrong.push(`${failed} replies were refused or failed`)
  const expected = steps.at(-1)!.messages
  const total = (await forum.metrics()).get('agent_forum_messages')!
  if (total < expected) wrong.push(`${total} messages of ${expected} are counted`)
  let read = 0
  for (const id of threads) {
    const { count, messages, bad } = await readWhole(forum, id, population.size.contentBytes)
    read += messages
    if (messages !== count) wrong.push(`${id} says ${count} messages and shows ${messages}`)
    if (bad > 0) wrong.push(`${id} has ${bad} messages that are not as they were sent`)
  }
  say(`${total.toLocaleString('en')} messages; read ${read.toLocaleString('en')} of them`)
  return wrong
}

interface Message {
  seq: number
  content: string
}

/** Reads a thread page by page. Counts messages that are out of order or not as they were sent. */
async function readWhole({ url }: Forum, id: string, contentBytes: number) {
  let after = 0
  let messages = 0
  let bad = 0
  for (;;) {
    const path = `/api/threads/${id}?after=${after}&limit=${pageMessages}`
    const answer = await fetch(url + path)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    const page = (await answer.json()) as {
      thread: { message_count: number }
      messages: Message[]
      next_after: number
      has_more: boolean
    }
    for (const { seq, content } of page.messages) {
      if (seq <= after || content !== contentOf(Number.parseInt(content, 10), contentBytes))
        bad += 1
      after = seq
    }
    messages += page.messages.length
    if (!page.has_more) return { count: page.thread.message_count, messages, bad }
  }
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`endless: ${error.message}\n`)
  return 64
})
