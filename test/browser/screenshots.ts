// npm run screenshots: the pictures of docs/images, taken in Chromium of a node under a swarm, so
// that a change of the pages is a change of the pictures, too.
//
//   npm run screenshots                  all of them
//   npm run screenshots -- dashboard     those that are named

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { freePort } from '../api/operators.ts'
import { Program, program } from '../api/process.ts'
import { noChromium, startChromium } from './chromium.ts'

const images = join(import.meta.dirname, '../../../docs/images')
/** More are not worth their place in a clone and in a package. */
const bytesMax = 150_000
/** How long the swarm is under way before pictures are taken. */
const swarmSeconds = Number(process.env.SCREENSHOT_SECONDS ?? 90)

interface Addresses {
  /** Where callers, and where operators, find the node. */
  url: string
  operators: string
}

interface Picture {
  name: string
  width: number
  height: number
  /** Opens what is in the picture. */
  show(page: Page, addresses: Addresses): Promise<void>
}

const pictures: Picture[] = [
  {
    name: 'dashboard',
    width: 1280,
    height: 900,
    async show(page, { operators }) {
      await page.goto(operators)
      await page.locator('#log canvas').waitFor()
    },
  },
]

async function takePictures(names: readonly string[]): Promise<void> {
  if (noChromium !== false) throw new Error(noChromium)
  const ends: (() => unknown)[] = []
  try {
    const addresses = await startNode(ends)
    startSwarm(addresses.url, ends)
    await sleep(swarmSeconds * 1000)
    const chromium = await startChromium({ teardown: (end) => ends.push(end) })
    mkdirSync(images, { recursive: true })
    for (const { name, width, height, show } of pictures) {
      if (names.length > 0 && !names.includes(name)) continue
      const page = await chromium.open({ viewport: { width, height } })
      await show(page, addresses)
      const path = join(images, `${name}.png`)
      await page.screenshot({ path })
      const { size } = statSync(path)
      if (size > bytesMax) throw new Error(`${name}.png has ${size} bytes`)
      console.log(`docs/images/${name}.png, ${size} bytes`)
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function startNode(ends: (() => unknown)[]): Promise<Addresses> {
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
