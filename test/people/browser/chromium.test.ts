// What the tests in Chromium rely on: the helpers report what is wrong with a page, and a page in
// the background sends no requests.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { until } from '../../until.ts'
import { barriersOn, noChromium, problemsOf, startChromium } from './chromium.ts'
import { decode, smallPng } from './small-png.ts'

const whileVisible = readFileSync(
  new URL('../../../src/people/browser/while-visible.js', import.meta.url),
  'utf8',
)

/** Serves a page with a policy of its own. `runs` counts the requests for `/run`. */
async function serve(body: string) {
  const server = createServer(({ url }, response) => {
    if (url === '/run') served.runs += 1
    const isScript = url!.endsWith('.js')
    response.writeHead(url === '/missing' ? 404 : 200, {
      'Content-Type': isScript ? 'text/javascript' : 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'; script-src 'self'; connect-src 'self'",
    })
    const head = '<!doctype html><html lang="en"><title>A page</title>'
    response.end(isScript ? whileVisible : head + body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const served = { url: `http://127.0.0.1:${port}/`, runs: 0, close: () => server.close() }
  return served
}

t.test(
  'chromium: pages with and without faults: what it reports',
  {
    skip: noChromium, // if it is not installed
  },
  async (t) => {
    const chromium = await startChromium(t)

    await t.test('a page: with nothing wrong: no problem, and no barrier', async (t) => {
      const { url, close } = await serve('<main><h1>A page</h1><p>Text.</p></main>')
      t.teardown(close)
      const page = await chromium.open()
      await page.goto(url)
      t.same(await barriersOn(page), [])
      t.same(problemsOf(page), [])
    })

    await t.test('a page: its policy stops a script: each way is a problem', async (t) => {
      const { url, close } = await serve(`<main><h1>A page</h1>
      <script>document.title = 'changed'</script><img alt="" src="http://127.0.0.1:1/a.png">
      <p onclick="x()">Text.</p></main>`)
      t.teardown(close)
      const page = await chromium.open()
      await page.goto(url)
      t.equal(await page.title(), 'A page')
      const stopped = problemsOf(page)
        .filter((line) => line.includes('policy stops'))
        .sort()
      t.strictSame(
        stopped.map((line) => /stops (\S+):/.exec(line)![1]),
        ['img-src', 'script-src-attr', 'script-src-elem'],
      )
    })

    await t.test('a page: text without contrast, a field without a name: barriers', async (t) => {
      const { url, close } = await serve('<main><h1>A page</h1><input></main>')
      t.teardown(close)
      const page = await chromium.open()
      await page.goto(url)
      t.match(await barriersOn(page), [/^label: /])
      await page.evaluate("document.querySelector('h1').style.color = '#eee'")
      t.match((await barriersOn(page)).sort(), [/^color-contrast: /, /^label: /])
    })

    await t.test('a page: uncaught errors, and what is missing: problems', async (t) => {
      const { url, close } = await serve('<main><h1>A page</h1></main>')
      t.teardown(close)
      const page = await chromium.open()
      await page.goto(url)
      await page.evaluate("void fetch('/missing'); setTimeout(() => { throw new Error('thrown') })")
      await until('two problems', () => problemsOf(page).length >= 2)
      const found = problemsOf(page).toSorted()
      t.match(found, [/^error: .* 404 /, /^uncaught: thrown/])
    })

    await t.test('pictures: of a page: made small: the same pixels', async (t) => {
      const { url, close } = await serve('<main><h1>A page</h1><p>Text.</p><hr></main>')
      t.teardown(close)
      const page = await chromium.open({ viewport: { width: 300, height: 200 } })
      await page.goto(url)
      const png = await page.screenshot()
      const small = smallPng(png)
      t.ok(small.length < png.length, `${small.length} of ${png.length} bytes`)
      const [before, after] = [decode(png), decode(small)]
      t.strictSame([after.width, after.height], [300, 200])
      t.ok(new Set(before.pixels).size > 10, 'letters have soft edges')
      t.ok(Buffer.from(before.pixels.buffer).equals(Buffer.from(after.pixels.buffer)))
    })

    await t.test('whileVisible: a run fails: reported, and the next one begins', async (t) => {
      const served = await serve('<main><h1>A page</h1></main>')
      t.teardown(served.close)
      const page = await chromium.open()
      await page.goto(served.url)
      await page.evaluate(`import('/while-visible.js').then(({ whileVisible }) => {
        whileVisible(50, () => fetch('/run').then(() => { throw new Error('of this run') }))
      })`)
      await until('two runs', () => served.runs >= 2)
      await until('its error', () => problemsOf(page).includes('uncaught: of this run'))
      await page.close()
      t.ok(served.runs >= 2)
    })

    await t.test('whileVisible: hidden, then shown: runs only while shown', async (t) => {
      const served = await serve('<main><h1>A page</h1></main>')
      t.teardown(served.close)
      const page = await chromium.open()
      await page.goto(served.url)
      await page.evaluate(`import('/while-visible.js').then(({ whileVisible }) => {
      whileVisible(1, () => fetch('/run').then(() => {}))
    })`)
      await until('three runs', () => served.runs >= 3)
      const setHidden = (isHidden: boolean) =>
        page.evaluate(`
        Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
      await setHidden(true)
      await page.evaluate('fetch("/")') // ends after the run that was in flight
      const before = served.runs
      await page.evaluate('new Promise((done) => setTimeout(done, 50))')
      t.equal(served.runs, before)
      await setHidden(false)
      await until('another run', () => served.runs > before)
      t.same(problemsOf(page), [])
    })
  },
)
