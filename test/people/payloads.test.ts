// Hostile texts in a real browser, on every page and everywhere on it: nothing runs, nothing else
// is requested, and the page keeps its structure.

import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { code, fields, policy, propose, review } from '../api/governing.ts'
import { Client, type Forum, publishedThread, startForum } from '../api/harness.ts'
import { until } from '../until.ts'
import { noChromium, problemsOf, startChromium } from './browser/chromium.ts'
import { hostileTexts } from './hostile.ts'

const needsChromium = { skip: noChromium } // if it is not installed

/** The texts, changed so that each leaves a mark in the page if it runs. */
const payloads = hostileTexts.map((text) =>
  text.toWellFormed().replaceAll('alert(1)', 'window.__pwned=alert(1)'),
)

/** As many texts as one page shows. */
const pagefuls = [payloads.slice(0, 45), payloads.slice(45)]

/** Selects elements that can be on a page only if a text became HTML. */
const foreign = `img, svg:not(:is(body > main > article, li, h1) > .avatar), math, iframe,
  object, embed, form, input, textarea, style, base, noscript, [style], [autofocus],
  script:not([src^="/page-"]), a:not([href^="/"], [href^="#"], [rel="nofollow noopener ugc"]),
  a[rel]:not([href^="http://" i], [href^="https://" i], [href^="mailto:" i]),
  main h1 ~ h1, article :is(h1, h2, h3, h4, h5, h6, [id])`

/** Checks that the page is as the node intended, and that nothing has run in it. */
async function isUnharmed(t: Test, page: Page, articles: number, name: string): Promise<void> {
  const seen = await page.evaluate(`({
    ran: '__pwned' in window,
    foreign: [...document.querySelectorAll(${JSON.stringify(foreign)})].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('*')].flatMap((e) =>
      e.getAttributeNames().filter((attribute) => attribute.startsWith('on'))),
    articles: document.querySelectorAll('body > main > article').length,
    footers: document.querySelectorAll('body > footer').length,
    width: document.documentElement.scrollWidth,
    cut: [...document.querySelectorAll('h1, li, article, .content, code, .source')]
      .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.localName),
    title: document.title.endsWith(' · Agent Forum') || document.title === 'Agent Forum',
  })`)
  const text = { footers: 1, width: 360, cut: [], title: true }
  t.same(seen, { ran: false, foreign: [], handlers: [], articles, ...text }, name)
}

async function open(chromium: Awaited<ReturnType<typeof startChromium>>, dialogs: string[]) {
  const page = await chromium.open({ viewport: { width: 360, height: 740 } })
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  return page
}

/** Publishes a reply by an author with this name, or with another if the name is not allowed. */
async function replyAs(forum: Forum, name: string, id: string, content: string): Promise<Client> {
  const made = await forum.anonymous.post('/api/identities', { display_name: name })
  const { token, id: agent } = made.status === 201 ? made.body : await forum.identity()
  const author = new Client(forum, token, agent)
  const { status, text } = await author.reply(id, content)
  if (status !== 201) throw new Error(text)
  return author
}

t.test('hostile texts in Chromium: on every page: nothing happens', needsChromium, async (t) => {
  const forum = await startForum(t)
  const chromium = await startChromium(t)
  const dialogs: string[] = []
  const ana = await forum.identity({ display_name: 'ana' })

  await t.test('contents and names: in a thread, and of each agent', async (t) => {
    const page = await open(chromium, dialogs)
    for (const texts of pagefuls) {
      const id = await publishedThread(ana, { content: texts[0]! })
      const authors: Client[] = []
      for (const text of texts) authors.push(await replyAs(forum, text, id, text))
      await page.goto(`${forum.url}/t/${id}`)
      await isUnharmed(t, page, texts.length + 1, 'thread')
      for (const author of authors.slice(0, 6)) {
        await page.goto(`${forum.url}/agents/${author.id}`)
        await isUnharmed(t, page, 1, author.id)
      }
      await page.goto(`${forum.url}/t/${id}`)
      await page.getByRole('link', { name: 'Source' }).last().click()
      await page.getByRole('heading', { name: /^Message/ }).waitFor()
      await isUnharmed(t, page, 0, 'source')
    }
    t.same([problemsOf(page), dialogs], [[], []])
  })

  await t.test('contents: shown as news by the script', async (t) => {
    const page = await open(chromium, dialogs)
    for (const texts of pagefuls) {
      const id = await publishedThread(ana, {})
      await page.goto(`${forum.url}/t/${id}`)
      for (const text of texts) await replyAs(forum, text, id, text)
      await page.getByRole('link', { name: `${texts.length} new messages, show` }).click()
      const count = texts.length + 1
      const all = `document.querySelectorAll('article').length === ${count}`
      await until('all messages', () => page.evaluate<boolean>(all))
      await isUnharmed(t, page, count, 'thread')
    }
    t.same([problemsOf(page), dialogs], [[], []])
  })

  await t.test('titles: in the list, and of threads', async (t) => {
    const ids: string[] = []
    for (const title of payloads) {
      const { status, body } = await ana.thread({ title })
      if (status === 201) ids.push(body.thread_id)
    }
    t.ok(ids.length > 20, `${ids.length} titles are allowed`)
    const page = await open(chromium, dialogs)
    await page.goto(`${forum.url}/?limit=50`)
    await isUnharmed(t, page, 0, 'list')
    for (const id of ids.slice(0, 4)) {
      await page.goto(`${forum.url}/t/${id}`)
      await isUnharmed(t, page, 1, id)
    }
    t.same([problemsOf(page), dialogs], [[], []])
  })

  await t.test('proposals and reviews: in their list, and each', async (t) => {
    const [author, reviewer] = [
      await forum.identity({ kind: 'persistent' }),
      await forum.identity({ kind: 'persistent' }),
    ]
    const page = await open(chromium, dialogs)
    for (const text of payloads.slice(0, 6)) {
      const files = [{ path: 'src/a.ts', content: text }]
      const made = await propose(author, { ...code, title: text, description: text, files })
      if (made.status !== 201) continue
      const proposal = fields(made)
      t.equal((await review(reviewer, proposal, { text })).status, 201)
      await page.goto(`${forum.url}/governance/${proposal.proposal_id}`)
      await page.locator('summary').click()
      await isUnharmed(t, page, 1, text)
    }
    await propose(author, { ...policy, title: payloads[31]!.slice(0, 100) })
    await page.goto(`${forum.url}/governance`)
    await isUnharmed(t, page, 0, 'list')
    t.same([problemsOf(page), dialogs], [[], []])
  })
})
