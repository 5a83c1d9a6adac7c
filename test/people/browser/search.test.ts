// Search in a real browser: by keyboard, without scripts, on a phone, in both color schemes, and
// with texts that would have an effect if a page treated them as more than text.

import type { Page } from 'playwright-core'
import t from 'tap'
import { publishedThread } from '../../api/harness.ts'
import { chosenSeed } from '../../depth.ts'
import { indexed, searchedForum } from '../../forum/search/forum.ts'
import { barriersOn, type Chromium, noChromium, problemsOf, startChromium } from './chromium.ts'
import { publishDemo } from './demo.ts'
import { dialogsOf, harmOn, payloads, unharmed } from './hostile-page.ts'

const needsChromium = { skip: noChromium } // if it is not installed

let chromium: Chromium
t.before(async () => {
  if (noChromium === false) chromium = await startChromium(t)
})

const textsOf = (page: Page, selector: string) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('${selector}')].map((e) => e.textContent.trim())`,
  )
/** Presses Tab until an element that matches the selector has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stops = 0; stops < 20; stops++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate<boolean>(`document.activeElement.matches('${selector}')`)) return
  }
  throw new Error(`no stop at ${selector}`)
}

const phone = { width: 360, height: 740 }
const searched = (q: string) => `/search?q=${encodeURIComponent(q)}`

/** Selects elements that can be on a page only if a text became HTML. */
const foreign = `img, svg, math, iframe, object, embed, textarea, style, base, noscript, [style],
  [autofocus], script:not([src^="/page-"]), form:not(header.site > form),
  input:not(header.site > form > input), a:not([href^="/"], [href^="#"])`

t.test('search: in Chromium: a person finds a message', needsChromium, async (t) => {
  const forum = await searchedForum(t)
  const demo = await publishDemo(forum)
  const ana = await forum.identity({ display_name: 'ana' })
  const long = await publishedThread(ana, { title: 'Counting', content: 'sheep 0' })
  await Promise.all(Array.from({ length: 44 }, (_, n) => ana.reply(long, `sheep ${n + 1}`)))
  await indexed(forum)

  await t.test('by keyboard alone: from a list to the message that has the words', async (t) => {
    const page = await chromium.open()
    await page.goto(forum.url)
    await tabTo(page, '[name=q]')
    await page.keyboard.type('passed "16 kib"')
    await page.keyboard.press('Enter')
    await page.waitForURL(/search\?q=passed\+%2216\+kib%22/)
    t.same(await textsOf(page, 'h1'), ['Messages with passed "16 kib"'])
    t.same(await textsOf(page, '.excerpt mark'), ['passed', '16 KiB'])
    await tabTo(page, '.title')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#m\d+$/)
    t.match(await textsOf(page, ':target .content'), [/^Nothing failed:.*16 KiB10 of 10/])
    t.same(problemsOf(page), [])
  })

  await t.test('without scripts: submits, pages on, and searches for something else', async (t) => {
    const page = await chromium.open({ javaScriptEnabled: false, viewport: phone })
    await page.goto(`${forum.url}/t/${demo.thread}`)
    const box = page.getByRole('searchbox', { name: 'Search messages' })
    await box.fill('sheep')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('heading', { name: 'Messages with sheep' }).waitFor()
    for (const count of [20, 20, 5]) {
      t.equal(await page.locator('ol.list > li').count(), count)
      t.equal(await box.inputValue(), 'sheep')
      const older = page.getByRole('link', { name: 'Older' })
      if (count === 20) await older.click()
      else t.equal(await older.count(), 0)
    }
    await box.fill('nobody wrote this')
    await box.press('Enter')
    await page.getByText('No public message has all of these words').waitFor()
  })

  const paths = ['/', `/t/${demo.thread}`, '/t/x', '/search', '/search?q=-', '/search?q=sheep']
  for (const colorScheme of ['light', 'dark'] as const) {
    await t.test(`its pages: ${colorScheme}: no barrier, no wider than a phone`, async (t) => {
      const page = await chromium.open({ colorScheme, viewport: phone })
      for (const path of [...paths, searched('the'), searched('absent word')]) {
        await page.goto(forum.url + path)
        t.same(await barriersOn(page), [], path)
        t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, path)
      }
    })
  }
})

t.test('search: in Chromium: hostile queries and hits: stay text', needsChromium, async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const forum = await searchedForum(t)
  for (const [n, text] of payloads.entries()) {
    const made = await forum.anonymous.post('/api/identities', { display_name: text })
    const author = await forum.identity()
    const title = `${[...text].slice(0, 100).join('')} only${n}`
    const content = `${text} only${n}`.slice(-8000)
    const body = { title, content }
    const token = made.status === 201 ? made.body.token : author.token
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': `payload-${n}` }
    t.equal((await forum.anonymous.post('/api/threads', body, headers)).status, 201, `${n}`)
  }
  await indexed(forum)
  const page = await chromium.open({ viewport: phone })
  const dialogs = dialogsOf(page)
  const isUnharmed = async (name: string) => t.same(await harmOn(page, foreign), unharmed, name)
  for (const [n, text] of payloads.entries()) {
    await page.goto(forum.url + searched(`only${n}`))
    t.equal(await page.locator('ol.list > li').count(), 1, `${n}`)
    await isUnharmed(`hit ${n}`)
    await page.goto(forum.url + searched([...text].slice(0, 500).join('')))
    await isUnharmed(`query ${n}`)
  }
  t.same(dialogs, [])
  t.same(
    problemsOf(page).filter((line) => !/status of 400/.test(line)),
    [],
  )
})
