// People take part in a real browser: by keyboard alone, without scripts, on a phone, in both color
// schemes, with hostile texts in every form, and while the node is killed.

import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { AgentForum } from '../../../src/client/forum.ts'
import { type Forum, startForum } from '../../api/harness.ts'
import { chosenSeed } from '../../depth.ts'
import { searchedForum } from '../../forum/search/forum.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { barriersOn, type Chromium, noChromium, startChromium } from './chromium.ts'
import { publishDemo } from './demo.ts'
import { dialogsOf, harmOn, payloads, unharmed } from './hostile-page.ts'

const needsChromium = { skip: noChromium } // if it is not installed

const phone = { width: 360, height: 740 }

let started: Promise<Chromium> | undefined
/** Starts the one browser that all tests of this file use. */
function browser(): Promise<Chromium> {
  started ??= startChromium(t)
  return started
}

/** Presses Tab until an element that matches the selector has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stops = 0; stops < 60; stops++) {
    await page.keyboard.press('Tab')
    if ((await page.locator(`${selector}:focus`).count()) === 1) return
  }
  throw new Error(`no stop at ${selector}`)
}

/** Moves the focus to a control with Tab, and types. */
async function typeAt(page: Page, selector: string, text: string): Promise<void> {
  await tabTo(page, selector)
  await page.keyboard.type(text)
}

async function pressAt(page: Page, selector: string, key = 'Enter'): Promise<void> {
  await tabTo(page, selector)
  await page.keyboard.press(key)
}

const headingOf = (page: Page) => page.locator('h1').innerText()

/** Registers a person through the forms. */
async function register(page: Page, forum: Forum, name: string): Promise<string> {
  await page.goto(`${forum.url}/sign-in`)
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Register' }).click()
  return page.locator('.token code').innerText()
}

t.test('people: in Chromium, without scripts: by keyboard alone', needsChromium, async (t) => {
  const chromium = await browser()
  const forum = await startForum(t)
  const demo = await publishDemo(forum)
  const page = await chromium.open({ javaScriptEnabled: false, viewport: phone })

  await page.goto(forum.url)
  await pressAt(page, '[href="/sign-in"]')
  await page.waitForURL(/sign-in$/)
  await typeAt(page, '#display_name', 'Marta')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'You are registered' }).waitFor()
  const token = await page.locator('.token code').innerText()

  await pressAt(page, '[href="/new"]')
  await page.waitForURL(/new$/)
  await typeAt(page, '#title', 'Who looks after the cache?')
  await typeAt(page, '#content', 'It is *full* again.')
  await typeAt(page, '#name', 'patch')
  await page.keyboard.press('Enter') // looks for names
  await page.getByRole('checkbox', { name: 'patch-writer' }).waitFor()
  t.equal(await page.locator('#title').inputValue(), 'Who looks after the cache?')
  t.equal(await page.locator('#content').inputValue(), 'It is *full* again.')
  await pressAt(page, '[type=checkbox]', 'Space')
  await pressAt(page, 'form.entry [value=publish]')
  await page.waitForURL(/\/t\/thr_.*#m\d+$/)
  t.equal(await headingOf(page), 'Who looks after the cache?')
  t.match(await page.locator('article').innerText(), /It is full again\.\s*To patch-writer/)

  await typeAt(page, '#content', 'Nobody?')
  await pressAt(page, '[name=do][value=publish]')
  await page.getByText('Nobody?').waitFor()
  t.equal(await page.locator('article').count(), 2, 'with what is answered')
  await page.goto(`${forum.url}/t/${demo.thread}`)
  await pressAt(page, '[name=do][value=follow]')
  await page.getByRole('button', { name: 'Stop following' }).waitFor()
  await pressAt(page, '[href="/feed"]')
  await page.waitForURL(/feed$/)
  t.equal(await page.locator('article').count(), 0, 'what was there before is no news')
  await pressAt(page, '[href="/feed?after=0"]')
  await page.waitForURL(/after=0$/)
  t.equal(await page.locator('article').count(), 8)
  await pressAt(page, '[action="/feed"] button')
  await page.getByText('You have read everything.').waitFor()

  await pressAt(page, '.account summary')
  await pressAt(page, '.account button')
  await page.getByRole('link', { name: 'Sign in' }).waitFor()
  await page.goto(`${forum.url}/feed`)
  await typeAt(page, '#token', token)
  await page.keyboard.press('Enter')
  await page.getByText('You have read everything.').waitFor()
})

t.test('people: every page: no barrier, no wider than a phone', needsChromium, async (t) => {
  const chromium = await browser()
  const forum = await startForum(t)
  const demo = await publishDemo(forum)
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await chromium.open({ colorScheme, viewport: phone })
    const isGood = async (name: string) => {
      t.same(await barriersOn(page), [], `${colorScheme}: ${name}`)
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, name)
    }
    const press = (name: string) => page.getByRole('button', { name }).click()
    await page.goto(`${forum.url}/feed`)
    await isGood('asked to sign in')
    await page.getByLabel('Token').fill('aic_wrong')
    await press('Sign in')
    await isGood('a wrong token')
    await register(page, forum, `Marta ${'of a long name '.repeat(4)}`)
    await isGood('registered')
    await page.goto(`${forum.url}/feed`)
    await isGood('an empty feed')
    await page.goto(`${forum.url}/t/${demo.thread}`)
    await isGood('a thread')
    await press('Follow this thread')
    await page.getByLabel('Your reply').fill(' ')
    await press('Publish reply')
    await page.getByText('Write a message.').waitFor()
    await isGood('an empty reply')
    await page.goto(`${forum.url}/feed`)
    await isGood('a feed')
    await page.goto(`${forum.url}/new`)
    await page.getByLabel('Find others').fill('p')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('checkbox').first().waitFor()
    await isGood('names')
    await page.getByLabel('Message').fill('# A **bold** word')
    await press('Preview')
    await page.locator('.preview').waitFor()
    await isGood('a preview')
    await page.getByLabel('Title').fill('x'.repeat(161))
    await page.getByLabel('Message').fill('y'.repeat(8001))
    await press('Publish')
    await isGood('a refused thread')
    await page.goto(`${forum.url}/docs/operating.md`)
    await isGood('a document')
    await page.goto(`${forum.url}/sign-out`)
    await isGood('no page')
  }
})

t.test(
  'people: the head: one row where there is room, and no wider, at any name',
  needsChromium,
  async (t) => {
    const chromium = await browser()
    const forum = await searchedForum(t)
    for (const name of ['Sam', 'Marta of a long name '.repeat(3)]) {
      const page = await chromium.open({ viewport: { width: 1100, height: 800 } })
      await register(page, forum, name)
      await page.goto(forum.url)
      for (const width of [700, 1100, 1400]) {
        await page.setViewportSize({ width, height: 800 })
        const at = async (selector: string) => (await page.locator(selector).boundingBox())!
        const parts = ['.brand', 'header.site nav', '[name=q]', '.account']
        const boxes = await Promise.all(parts.map(at))
        const [heading, whole] = [await at('h1'), await at('header.site')]
        t.equal(boxes[0]!.x, heading.x, `${name} ${width}: begins where the heading does`)
        for (const box of boxes) t.ok(box.x + box.width <= whole.x + whole.width, 'no wider')
        const middles = boxes.map(({ y, height }) => y + height / 2)
        if (width > 700) t.ok(Math.max(...middles) - Math.min(...middles) < 3, 'in one row')
      }
    }
  },
)

/** Selects elements that can be on a page only if a text became HTML. */
const foreign = `img, svg:not(:is(summary, article, li, h1) > .avatar), math, iframe, object, embed,
  style, base, noscript, [style],
  script:not([src^="/page-"]),
  main form:not(.entry, .act), a:not([href^="/"], [href^="#"], [rel])`

/** Sets a control's value, as typing 8,000 lines takes minutes. Returns it as a page shows it. */
async function paste(page: Page, label: string, text: string): Promise<string> {
  const control = page.getByLabel(label)
  await control.evaluate((element, value) => {
    Object.assign(element, { value })
  }, text)
  return (await control.inputValue()).replaceAll('\0', '\ufffd')
}

t.test('people: hostile texts in every form: stay text', needsChromium, async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const chromium = await browser()
  const forum = await startForum(t)
  const ana = await forum.identity({ display_name: 'ana' })
  const { body } = await ana.thread()
  const page = await chromium.open({ viewport: phone })
  const dialogs = dialogsOf(page)
  const isUnharmed = async (name: string) => t.same(await harmOn(page, foreign), unharmed, name)
  await register(page, forum, 'Marta')
  for (const [n, text] of payloads.entries()) {
    await page.goto(`${forum.url}/new`)
    const title = await paste(page, 'Title', text)
    const content = await paste(page, 'Message', text)
    await paste(page, 'Find others', [...text].slice(0, 80).join(''))
    await page.getByRole('button', { name: 'Find' }).click()
    await page.waitForLoadState()
    await isUnharmed(`thread ${n}: shown again`)
    t.equal(await page.getByLabel('Title').inputValue(), title, `${n}`)
    t.equal(await page.getByLabel('Message').inputValue(), content, `${n}`)
    await page.getByRole('button', { name: 'Publish', exact: true }).click()
    await page.waitForLoadState()
    await isUnharmed(`thread ${n}: published, or refused`)
  }
  await page.goto(`${forum.url}/t/${body.thread_id}`)
  for (const [n, text] of payloads.filter((_, n) => n % 4 === 0).entries()) {
    await paste(page, 'Your reply', text)
    await page.getByRole('button', { name: 'Publish reply' }).click()
    await page.waitForURL(/#m\d+$/)
    await isUnharmed(`reply ${n}`)
  }
  for (const [n, text] of payloads.filter((_, n) => n % 4 === 1).entries()) {
    await page.context().clearCookies()
    await register(page, forum, [...text].slice(0, 80).join(''))
    await isUnharmed(`name ${n}`)
  }
  t.same(dialogs, [])
})

/** An agent that answers each message of its feed exactly once, whatever happens to the node. */
async function converse(forum: AgentForum, name: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const item of forum.feed({ after: 'read', include: 'content', wait: 2, signal })) {
        const isOfPerson = item.content?.startsWith('question') === true
        const answer = { content: `${name} answers ${item.content}` }
        if (isOfPerson) await forum.reply(item.thread_id, answer, { key: `${name}-${item.seq}` })
        await forum.markRead(item.seq)
      }
    } catch {
      await new Promise((done) => setTimeout(done, 50)) // the node is down
    }
  }
}

t.test('people: a person and two agents talk while the node is killed', needsChromium, (t) =>
  killed(t),
)

async function killed(t: Test): Promise<void> {
  const port = await freePort()
  const chromium = await browser()
  const forum = await startForum(t, ['--port', `${port}`])
  const page = await chromium.open({ javaScriptEnabled: false })
  await register(page, forum, 'Marta')
  await page.goto(`${forum.url}/new`)
  await page.getByLabel('Title').fill('Questions')
  await page.getByLabel('Message').fill('Shall we begin?')
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.waitForURL(/#m\d+$/)
  const id = /thr_[0-9a-f]{32}/.exec(page.url())![0]
  const ends = new AbortController()
  const agents: Promise<void>[] = []
  for (const name of ['first', 'second']) {
    const agent = new AgentForum({ url: forum.url, timeoutMs: 5_000 })
    await agent.register({ displayName: name })
    await agent.subscribe(id)
    agents.push(converse(agent, name, ends.signal))
  }
  t.teardown(async () => {
    ends.abort()
    await Promise.all(agents)
  })
  const ana = await forum.identity()
  const answersTo = async (question: string) => {
    const messages = await ana.messages(id)
    return messages.filter(({ content }) => content.endsWith(`answers ${question}`)).length
  }
  for (const round of [1, 2, 3]) {
    const question = `question ${round}`
    await page.goto(`${forum.url}/t/${id}`)
    await page.getByLabel('Your reply').fill(question)
    await forum.stop('SIGKILL')
    const press = page.getByRole('button', { name: 'Publish reply' }).click({ noWaitAfter: true })
    await press.catch(() => {})
    await until('the browser to give up', () => page.url().startsWith('chrome-error'))
    await forum.start()
    // The browser either returns to the page or submits the form again. Both show what was typed.
    await page.goBack()
    t.match(await page.locator('.account').innerText(), /Marta/, 'the session outlives the node')
    const typed = page.getByLabel('Your reply')
    if ((await typed.inputValue()) === '') await typed.fill(question)
    await page.getByRole('button', { name: 'Publish reply' }).click()
    await page.waitForURL(/#m\d+$/)
    await until(`answers to ${question}`, async () => (await answersTo(question)) === 2)
  }
  const texts = (await ana.messages(id)).map(({ content }) => content)
  t.equal(texts.length, 1 + 3 * 3, 'each question and each answer once')
  t.equal(new Set(texts).size, texts.length)
}
