// npm run screenshots: takes the pictures of docs/images in Chromium, so that a change of the pages
// is also a change of the pictures. They show the dashboard of a node under a swarm, and the pages
// of a node with a conversation (demo.ts).
//
//   npm run screenshots                  all of them
//   npm run screenshots -- dashboard     those that are named

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { Forum } from '../../api/harness.ts'
import { Program, program, run } from '../../api/process.ts'
import { indexed } from '../../forum/search/forum.ts'
import { freePort } from '../../free-port.ts'
import { noChromium, startChromium } from './chromium.ts'
import { publishDemo } from './demo.ts'
import { smallPng } from './small-png.ts'

const images = join(import.meta.dirname, '../../../../docs/images')
/** A larger picture is not worth its space in a clone and in a package. */
const bytesMax = 150_000
/** How long the swarm runs before pictures are taken. */
const swarmSeconds = Number(process.env.SCREENSHOT_SECONDS ?? 90)

/** Registers a person, who writes a reply and does not publish it yet. */
async function writeReply(page: Page, url: string, thread: string): Promise<void> {
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('Name').fill('Marta')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.goto(`${url}/t/${thread}`)
  const text = 'Thanks. I have raised the limit on both, please **run it again**.'
  await page.getByLabel('Your reply').fill(text)
  await page.evaluate("document.querySelector('[name=content]').closest('form').scrollIntoView()")
}

/** Locks a thread as an operator, and opens its moderation page. */
async function moderate(page: Page, data: string, thread: string): Promise<void> {
  const reason = ['--reason', 'solved; the summary is in the wiki', '--data', data]
  await run(['admin', 'lock-thread', thread, ...reason])
  const { stdout } = await run(['admin', 'sign-in', '--data', data])
  await page.goto(stdout.trim())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Id, address of a page').fill(thread)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Thread' }).waitFor()
}

interface Picture {
  name: string
  width: number
  height: number
}

/** The pictures that are taken of one node. */
interface Album {
  pictures: readonly Picture[]
  /** Starts the node, and resolves to a function that opens the page for a picture. */
  start(ends: (() => unknown)[]): Promise<(page: Page, name: string) => Promise<void>>
}

const underSwarm: Album = {
  pictures: [{ name: 'dashboard', width: 1280, height: 900 }],
  async start(ends) {
    const { url, operators } = await startNode(ends)
    startSwarm(url, ends)
    await sleep(swarmSeconds * 1000)
    return async (page) => {
      await page.goto(operators)
      await page.locator('#log canvas').waitFor()
    }
  },
}

const withConversation: Album = {
  pictures: [
    { name: 'list', width: 800, height: 560 },
    { name: 'thread', width: 800, height: 760 },
    { name: 'search', width: 800, height: 560 },
    { name: 'reply', width: 800, height: 560 },
    { name: 'moderation', width: 800, height: 480 },
  ],
  async start(ends) {
    const data = mkdtempSync(join(tmpdir(), 'agent-forum-screenshots-'))
    ends.push(() => rmSync(data, { recursive: true }))
    const port = await freePort()
    const forum = new Forum(data, ['--ops-port', `${port}`])
    forum.environment.AGENT_FORUM_NO_SEARCH = 'off'
    ends.push(() => forum.stop())
    await forum.start()
    const { thread } = await publishDemo(forum)
    await indexed(forum)
    const paths = { list: '/', thread: `/t/${thread}`, search: '/search?q=pages+test' }
    return async (page, name) => {
      if (name === 'reply') return writeReply(page, forum.url, thread)
      if (name === 'moderation') return moderate(page, forum.data, thread)
      await page.goto(forum.url + paths[name as keyof typeof paths])
      if (name !== 'thread') return
      const guest = await forum.identity({ display_name: 'night-shift' })
      await guest.reply(thread, 'The build of tonight passed on both.')
      await guest.reply(thread, 'Whoever wants the logs finds them where they always are.')
      await page.getByText('2 new messages, show').waitFor()
    }
  },
}

async function takePictures(names: readonly string[]): Promise<void> {
  if (noChromium !== false) throw new Error(noChromium)
  const ends: (() => unknown)[] = []
  try {
    const chromium = await startChromium({ teardown: (end) => ends.push(end) })
    mkdirSync(images, { recursive: true })
    for (const { pictures, start } of [underSwarm, withConversation]) {
      const chosen = pictures.filter(({ name }) => names.length === 0 || names.includes(name))
      if (chosen.length === 0) continue
      const show = await start(ends)
      for (const { name, width, height } of chosen) {
        const page = await chromium.open({ viewport: { width, height } })
        await show(page, name)
        await take(page, name)
      }
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function take(page: Page, name: string): Promise<void> {
  const path = join(images, `${name}.png`)
  const png = smallPng(await page.screenshot())
  if (png.length > bytesMax) throw new Error(`${name}.png has ${png.length} bytes`)
  writeFileSync(path, png)
  console.log(`docs/images/${name}.png, ${png.length} bytes`)
}

/** Starts a node, and resolves to its URL for callers and its URL for operators. */
async function startNode(ends: (() => unknown)[]): Promise<{ url: string; operators: string }> {
  const data = mkdtempSync(join(tmpdir(), 'agent-forum-screenshots-'))
  ends.push(() => rmSync(data, { recursive: true }))
  const port = await freePort()
  const flags = ['--port', '0', '--data', data, '--ops-port', `${port}`, '--checkpoint-mb', '16']
  const node = new Program(['serve', ...flags])
  ends.push(() => node.stop('SIGTERM'))
  const { url } = await node.logged('started')
  return { url: url!, operators: `http://127.0.0.1:${port}/` }
}

function startSwarm(url: string, ends: (() => unknown)[]): void {
  const work = 'agents=300,threads=400,replies=200000'
  const args = [program, 'swarm', '--synthetic', work, '--wait', '5', '--url', url]
  const swarm = spawn(process.execPath, args, { stdio: 'ignore' })
  ends.push(async () => {
    swarm.kill('SIGKILL')
    await once(swarm, 'close')
  })
}

await takePictures(process.argv.slice(2))
