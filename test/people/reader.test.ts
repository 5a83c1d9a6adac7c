// The pages in a real browser: a person finds a thread, reads it, and is told about news.

import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Forum, publishedThread, startForum } from '../api/harness.ts'
import { until } from '../until.ts'
import { barriersOn, noChromium, problemsOf, startChromium } from './browser/chromium.ts'
import { publishDemo } from './browser/demo.ts'

const needsChromium = { skip: noChromium } // if it is not installed

const textOf = (page: Page, selector: string) =>
  page.evaluate<string>(`document.querySelector('${selector}')?.textContent.trim() ?? ''`)
async function seqsOn(page: Page): Promise<number[]> {
  await page.waitForLoadState('domcontentloaded') // a click waits only for the page's first bytes
  return page.evaluate<number[]>(
    `[...document.querySelectorAll('article')].map(({ id }) => Number(id.slice(1)))`,
  )
}

/** Waits until the page says this about news. Before that it may say something else, or nothing. */
async function saysNews(t: Test, page: Page, text: string): Promise<void> {
  await until(`"${text}"`, async () => (await textOf(page, '#news')) === text)
  t.equal(await page.evaluate(`document.querySelector('#news').getAttribute('role')`), 'status')
}

/** Brings the tab to the front, or moves it to the background. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)

/** Stops the page's clock: from now on, time passes only when the test says so. */
async function stopClock(page: Page): Promise<void> {
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 3_600_000) // it runs until then, however long that takes
}

/** Counts the page's polls: the most that were in flight at the same time, and their total. */
function watchPolls(page: Page): { most: number; count: number } {
  const polls = { most: 0, count: 0 }
  let underWay = 0
  const isPoll = (request: { url(): string }) => request.url().includes('/api/')
  page.on('request', (request) => {
    if (!isPoll(request)) return
    underWay += 1
    polls.count += 1
    polls.most = Math.max(polls.most, underWay)
  })
  const end = (request: { url(): string }) => {
    if (isPoll(request)) underWay -= 1
  }
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  return polls
}

t.test(
  'reader: in Chromium: finds a thread, reads it, sees that there is news',
  needsChromium,
  async (t) => {
    const chromium = await startChromium(t)
    const forum: Forum = await startForum(t)
    const demo = await publishDemo(forum)
    const ana = await forum.identity({ display_name: 'ana' })
    const long = await publishedThread(ana, { title: 'A long thread', content: 'the first' })
    await Promise.all(Array.from({ length: 119 }, (_, n) => ana.reply(long, `reply ${n}`)))
    const seqs = (await ana.messages(long)).map(({ seq }) => seq)

    await t.test('newcomer: on the list: opens a thread, pages through, links to it', async (t) => {
      const page = await chromium.open()
      await page.goto(forum.url)
      await page.getByRole('link', { name: 'A long thread' }).click()
      t.equal(await textOf(page, 'h1'), 'A long thread')
      t.same(await seqsOn(page), seqs.slice(0, 50))
      for (const from of [50, 100]) {
        await page.getByRole('link', { name: 'Later' }).first().click()
        t.same(await seqsOn(page), seqs.slice(from, from + 50))
      }
      await page.getByRole('link', { name: `#${seqs[110]}` }).click()
      t.equal(page.url(), `${forum.url}/t/${long}?after=${seqs[110]! - 1}#m${seqs[110]}`)
      t.equal(await page.evaluate(`document.querySelector(':target').id`), `m${seqs[110]}`)
      await page.getByRole('link', { name: 'ana' }).first().click()
      t.equal(await textOf(page, 'h1'), 'ana')
      await page.getByRole('link', { name: 'Threads', exact: true }).first().click()
      t.equal(page.url(), `${forum.url}/`)
      t.same(problemsOf(page), [])
    })

    await t.test('reader: at the end of a thread: sees news, and shows them by key', async (t) => {
      const page = await chromium.open()
      const polls = watchPolls(page)
      await page.goto(`${forum.url}/t/${demo.thread}`)
      t.equal(await textOf(page, 'main > .about').then((text) => text.slice(0, 10)), '8 messages')
      const before = await seqsOn(page)
      for (const n of [1, 2, 3]) await ana.reply(demo.thread, `news ${n} <b>`)
      await saysNews(t, page, '3 new messages, show')
      t.same(await barriersOn(page), [])
      t.same(await seqsOn(page), before, 'nothing moves while somebody reads')
      await page.getByRole('link', { name: '3 new messages, show' }).focus()
      await page.keyboard.press('Enter')
      await until('three more', async () => (await seqsOn(page)).length === before.length + 3)
      await saysNews(t, page, '')
      t.match(await textOf(page, 'main > .about'), /^11 messages/)
      t.match(await textOf(page, 'article:last-of-type .content'), 'news 3 <b>')
      const focused = await page.evaluate('document.activeElement.id')
      t.equal(focused, `m${(await seqsOn(page)).at(-3)}`)
      await ana.reply(demo.thread, 'and one more')
      await saysNews(t, page, '1 new message, show')
      await page.getByRole('link', { name: '1 new message, show' }).click()
      await until('one more', async () => (await seqsOn(page)).length === before.length + 4)
      const all = await ana.messages(demo.thread)
      t.same(
        await seqsOn(page),
        all.map(({ seq }) => seq),
      )
      t.equal(polls.most, 1)
      t.same(problemsOf(page), [])
    })

    await t.test('reader: a message arrives while others are fetched: it is news', async (t) => {
      const page = await chromium.open()
      const id = await publishedThread(ana, {})
      await page.goto(`${forum.url}/t/${id}`)
      await ana.reply(id)
      await saysNews(t, page, '1 new message, show')
      const hold = async (route: Route) => {
        const response = await route.fetch()
        await ana.reply(id)
        await saysNews(t, page, '2 new messages, show')
        await route.fulfill({ response })
      }
      await page.route('**/t/**', hold, { times: 1 })
      await page.getByRole('link', { name: 'show' }).click()
      await until('one more', async () => (await seqsOn(page)).length === 2)
      await saysNews(t, page, '1 new message, show')
      await page.getByRole('link', { name: 'show' }).click()
      await until('both', async () => (await seqsOn(page)).length === 3)
      await saysNews(t, page, '')
    })

    await t.test('reader: more news than a page has: the link leads to them', async (t) => {
      const page = await chromium.open()
      const id = await publishedThread(ana, {})
      await page.goto(`${forum.url}/t/${id}`)
      await Promise.all(Array.from({ length: 55 }, () => ana.reply(id)))
      await saysNews(t, page, 'More than 50 new messages, show')
      await page.getByRole('link', { name: 'show' }).click()
      await page.waitForURL(/after=/)
      const all = (await ana.messages(id)).map(({ seq }) => seq)
      t.same(await seqsOn(page), all.slice(1, 51))
    })

    await t.test('reader: with scripts: times as people say them, code to copy', async (t) => {
      const page = await chromium.open({ permissions: ['clipboard-read', 'clipboard-write'] })
      const id = await publishedThread(ana, { content: '```\none\ntwo\n```' })
      const { created_at } = (await ana.messages(id))[0]!
      await page.clock.install({ time: created_at + 5_000 })
      await page.goto(`${forum.url}/t/${id}`)
      const time = page.locator('article time')
      await until('a time as people say it', async () => (await time.innerText()) === 'just now')
      t.equal(await time.getAttribute('title'), new Date(created_at).toISOString())
      t.notMatch(await textOf(page, 'footer'), /UTC/)
      await page.clock.fastForward(5 * 60_000)
      await until('later', async () => (await time.innerText()) === '5 min ago')
      await page.getByRole('button', { name: 'Copy' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      t.equal(await page.evaluate('navigator.clipboard.readText()'), 'one\ntwo')
      t.same(problemsOf(page), [])
    })

    await t.test('reader: not at the end, or of an older list: no script of news', async (t) => {
      const page = await chromium.open()
      const polls = watchPolls(page)
      await page.goto(`${forum.url}/t/${long}`)
      t.equal(await page.locator('script[src$="/news.js"]').count(), 0)
      await page.goto(`${forum.url}/?limit=2`)
      await page.getByRole('link', { name: 'Older' }).click()
      t.equal(await page.locator('script[src$="/news.js"]').count(), 0)
      t.equal(polls.count, 1, 'that of the first list')
    })

    await t.test('reader: of the list: sees that there are new threads', async (t) => {
      const page = await chromium.open()
      await page.clock.install()
      await page.goto(forum.url)
      await publishedThread(ana, { title: 'brand new' })
      const newest = await publishedThread(ana, { title: 'newer still' })
      await page.clock.fastForward(20_000)
      await saysNews(t, page, '2 updated threads, show')
      await page.getByRole('link', { name: '2 updated threads, show' }).click()
      await until('both', async () => (await textOf(page, 'ol')).startsWith('newer still'))
      await ana.reply(newest, 'once more')
      await page.clock.fastForward(20_000)
      await saysNews(t, page, '1 updated thread, show')
      t.same(problemsOf(page), [])
    })

    await t.test('reader: the node refuses: asks again when it may, and not before', async (t) => {
      const page = await chromium.open()
      const polls = watchPolls(page)
      await stopClock(page)
      const refusal = { status: 503, headers: { 'retry-after': '30' }, body: '{}' }
      await page.route('**/api/**', (route) => route.fulfill(refusal))
      await page.goto(`${forum.url}/t/${demo.thread}`)
      await until('a poll', () => polls.count === 1)
      await page.evaluate('fetch("/llms.txt").then(() => {})') // takes longer than the refusal
      await page.clock.fastForward(25_000)
      await page.evaluate('fetch("/llms.txt").then(() => {})')
      t.equal(polls.count, 1)
      await page.unroute('**/api/**')
      await until('another poll', async () => {
        await page.clock.fastForward(10_000)
        return polls.count === 2
      })
      await ana.reply(demo.thread, 'after the refusal')
      await saysNews(t, page, '1 new message, show')
    })

    await t.test(
      'reader: nobody sees the page: the poll is given up, until it is seen',
      async (t) => {
        const page = await chromium.open()
        const polls = watchPolls(page)
        await stopClock(page)
        await page.goto(`${forum.url}/t/${demo.thread}`)
        await until('a poll', () => polls.count === 1)
        const givenUp = page.waitForEvent('requestfailed')
        await setHidden(page, true)
        t.match((await givenUp).url(), '/api/')
        await ana.reply(demo.thread, 'unseen')
        await page.evaluate('fetch("/llms.txt").then(() => {})')
        t.equal(polls.count, 1)
        await setHidden(page, false)
        await until('another poll, at once', () => polls.count > 1)
        await saysNews(t, page, '1 new message, show')
        t.same(problemsOf(page), [])
      },
    )

    await t.test('reader: polls end without having waited: they become rare', async (t) => {
      const page = await chromium.open()
      const polls = watchPolls(page)
      await stopClock(page)
      const empty = { json: { messages: [], next_after: 1 } }
      await page.route('**/api/**', (route) => route.fulfill(empty))
      await page.goto(`${forum.url}/t/${demo.thread}`)
      for (let second = 0; second < 20; second++) {
        await page.clock.fastForward(1_000)
        await page.evaluate('fetch("/llms.txt").then(() => {})') // by then the poll has its answer
      }
      t.ok(polls.count >= 2 && polls.count <= 6, `${polls.count} in 20 seconds`)
    })

    await t.test('keyboard: the first stop skips to the content', async (t) => {
      const page = await chromium.open()
      await page.goto(`${forum.url}/t/${demo.thread}`)
      await page.keyboard.press('Tab')
      t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      const stop = await page.evaluate(`document.activeElement.closest('main') !== null`)
      t.ok(stop, 'the next stop is in the content')
    })

    const paths = {
      list: '/',
      thread: `/t/${demo.thread}`,
      agent: `/agents/${demo.agent}`,
      proposals: '/governance',
      proposal: `/governance/${demo.proposal}`,
      absent: '/t/x',
      mistyped: `/t/${demo.thread}?after=x`,
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await t.test(
        `every page: ${colorScheme}: no barrier, and no wider than a phone`,
        async (t) => {
          const page = await chromium.open({ colorScheme, viewport: { width: 360, height: 740 } })
          for (const [name, path] of Object.entries(paths)) {
            await page.goto(forum.url + path)
            t.same(await barriersOn(page), [], name)
            t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, name)
          }
        },
      )
    }
  },
)
