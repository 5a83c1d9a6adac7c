// The operators' port in Chromium: the dashboard updates while a swarm runs and reports when its
// node is gone; it is accessible, as are the pages on which operators moderate.

import type { Page } from 'playwright-core'
import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { small, swarm } from '../../clients/swarm/run.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { barriersOn, type Chromium, noChromium, problemsOf, startChromium } from './chromium.ts'

let chromium: Chromium
t.before(async () => {
  if (noChromium === false) chromium = await startChromium(t)
})

/** Returns the text of the first element that matches the selector. */
async function textOf(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).first().textContent()) ?? ''
}

/** Returns the cells of this route's row in the table of routes, or none if it has no row. */
async function routeRow(page: Page, route: string): Promise<string[]> {
  const row = page.locator('#routes tbody tr', { has: page.getByText(route, { exact: true }) })
  return row.locator('td').allTextContents()
}

t.test(
  'operator: a dashboard in a browser: live, usable, honest',
  {
    skip: noChromium, // if it is not installed
  },
  async (t) => {
    const port = await freePort()
    const forum = await startForum(t, ['--ops-port', `${port}`])
    const page = await chromium.open()
    await page.goto(`http://127.0.0.1:${port}/`)

    await t.test(
      'dashboard: a swarm publishes and reads: the numbers and charts move',
      async (t) => {
        await page.locator('#requests canvas').waitFor()
        t.equal(await textOf(page, '#state'), 'Serving')
        t.same(await routeRow(page, 'reply'), [])
        const { code, stdout } = await swarm(...small, '--url', forum.url)
        t.equal(code, 0, stdout)
        const replies = await until('the replies in the table', async () => {
          const row = await routeRow(page, 'reply')
          return Number(row[3]) >= 40 ? row : null
        })
        t.ok(Number(replies[3]) >= 40, 'answered')
        t.same(replies.slice(4), ['0', '0'], 'none refused, none failed')
        const label = (id: string) => page.locator(`#${id} .chart`).getAttribute('aria-label')
        const moved = /all routes now [\d.,]+, at most (?!0[;,])[\d.,]+/
        await until('a rate in the chart', async () => moved.test((await label('requests'))!))
        // The charts have samples, the table the newest numbers: on a busy machine, the sample with
        // the first requests may come before that with the writes.
        const synced = /p99 now .*, at most [\d.]+ .?s/
        await until('the syncs in the chart', async () => synced.test((await label('syncs'))!))
        t.equal(await textOf(page, '#figure-messages'), '44')
        const line = () => page.locator('.spark path').nth(5).getAttribute('d')
        await until('a rising line', async () => /L120\.0 1?\d?\.0$/.test((await line())!))
        t.same(problemsOf(page), [])
      },
    )

    await t.test('dashboard: a pointer on a chart: the values of that time', async (t) => {
      const chart = page.locator('#memory .u-over')
      const { width, height } = (await chart.boundingBox())!
      await chart.hover({ position: { x: width - 4, y: height / 2 } })
      await until('a time in the legend', async () => /^at /.test(await textOf(page, '#memory li')))
      t.match(await textOf(page, '#loop li'), /^at /, 'all charts have the same cursor')
      await page.mouse.move(0, 0)
    })

    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [360, 1600]) {
        await t.test(
          `dashboard: ${colorScheme}, ${width} px wide: everybody can read it`,
          async (t) => {
            await page.emulateMedia({ colorScheme })
            await page.setViewportSize({ width, height: 900 })
            t.same(await barriersOn(page), [])
            const inner = await page.evaluate('document.documentElement.scrollWidth')
            t.equal(inner, width, 'nothing is wider than the window')
            await until('charts of that width', async () => {
              const [panel, chart] = await page.evaluate<number[]>(`
            ['#log .box', '#log .uplot'].map((name) => document.querySelector(name).clientWidth)`)
              return panel === chart
            })
          },
        )
      }
    }

    await t.test('dashboard: its node is killed and started again: says so, goes on', async (t) => {
      t.same(problemsOf(page), [])
      await forum.stop('SIGKILL')
      await page.locator('#silence').waitFor()
      t.match(await textOf(page, '#silence'), /^The node has not answered since \d+:\d\d:\d\d/)
      t.equal(await textOf(page, '#state'), 'No answer')
      t.equal(await textOf(page, '#figure-messages'), '44', 'it keeps what it has')
      t.same(await barriersOn(page), [])
      await forum.start()
      await page.locator('#silence').waitFor({ state: 'hidden' })
      // The first sample to be shown may have been taken while the process recovered.
      await until('the state of the new process', async () => {
        return (await textOf(page, '#state')) === 'Serving'
      })
      await until('no routes of the process before', async () => {
        return (await routeRow(page, 'reply')).length === 0
      })
      t.equal(await textOf(page, '#figure-messages'), '44')
      // The request was refused, or was cut off by the kill.
      const isOfKill = /ERR_CONNECTION_(?:REFUSED|RESET|CLOSED)|ERR_EMPTY_RESPONSE/
      const others = problemsOf(page).filter((line) => !isOfKill.test(line))
      t.same(others, [])
    })
  },
)

const phone = { width: 360, height: 780 }

t.test(
  'operator: moderation in a browser: usable on a phone, by keyboard',
  {
    skip: noChromium, // if it is not installed
  },
  async (t) => {
    const port = await freePort()
    const forum = await startForum(t, ['--ops-port', `${port}`])
    const ana = await forum.identity({ display_name: `Ana ${'of a long name '.repeat(4)}` })
    const { thread_id, message_id } = (await ana.thread()).body
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await chromium.open({ colorScheme, viewport: phone })
      const isGood = async (name: string, heading: string) => {
        await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
        t.same(await barriersOn(page), [], `${colorScheme}: ${name}`)
        t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, name)
      }
      const { stdout } = await run(['admin', 'sign-in', '--data', forum.data])
      await page.goto(stdout.trim())
      await isGood('the button', 'Sign in')
      await page.getByRole('button', { name: 'Sign in' }).focus()
      await page.keyboard.press('Enter')
      await page.getByLabel('Id, address of a page').fill(`${forum.url}/t/${thread_id}`)
      await page.keyboard.press('Enter')
      await isGood('a thread', 'Thread')
      await page.getByLabel('Reason').fill(`${colorScheme}, ${'a long reason '.repeat(20)}`)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Unlock it' }).waitFor()
      await page.goto(`http://127.0.0.1:${port}/admin?id=${message_id}`)
      await isGood('a message', 'Message')
      await page.goto(`http://127.0.0.1:${port}/admin?id=${ana.id}`)
      await isGood('an identity', 'Identity')
      await page.getByRole('link', { name: 'Moderation' }).click()
      await page.getByLabel('Identities that it creates').fill('3')
      await page.getByRole('button', { name: 'Issue an invitation' }).click()
      await isGood('an invitation', 'Done')
      await page.getByRole('link', { name: 'Back to moderation' }).click()
      await isGood('all', 'Moderation')
      await page.getByRole('cell', { name: 'first message' }).first().waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('agent-forum admin sign-in').waitFor()
      await isGood('signed out', 'Sign in')
      const refused = problemsOf(page).filter((line) => !/401/.test(line))
      t.same(refused, [])
      await run(['admin', 'unlock-thread', thread_id, '--data', forum.data])
    }
  },
)
