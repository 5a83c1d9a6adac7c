// A real browser for tests: Debian's Chromium, headless, through playwright-core. One browser is
// started for each test file, and every page has a profile of its own.
//
//   const chromium = await startChromium(t)           // in a test that is skipped without one:
//   t.test('reader: …: …', { skip: noChromium }, …)   // `noChromium` says why
//   const page = await chromium.open({ colorScheme: 'dark' })
//   await page.goto(url)
//   t.same(problemsOf(page), [])
//   t.same(await barriersOn(page), [])
//
// A page records what must not happen while it is open: errors on the console, uncaught errors,
// requests that fail or go to another origin, and whatever its Content-Security-Policy blocks.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = places.find(existsSync)

/** False, or the reason why tests that need Chromium are skipped. */
export const noChromium: string | false =
  executablePath === undefined ? 'chromium is not installed' : false

const { resolve } = createRequire(import.meta.url)
const axe = readFileSync(resolve('axe-core/axe.min.js'), 'utf8')
/** Runs in a page before the page's own scripts, where no policy applies to it. */
const noteViolations = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy stops ' + event.effectiveDirective + ': ' + event.blockedURI))`

export interface Chromium {
  /** Opens a page in a profile of its own: light, 1280 by 800, unless the options say otherwise. */
  open(options?: BrowserContextOptions): Promise<Page>
}

/** Starts Chromium, which is closed after the test. */
export async function startChromium(t: {
  teardown(run: () => Promise<void>): void
}): Promise<Chromium> {
  const browser = await launch()
  t.teardown(() => browser.close())
  return { open: (options = {}) => open(browser, options) }
}

async function launch(): Promise<Browser> {
  // No sandbox, since tests may run as root, which Chromium's sandbox refuses.
  return chromium.launch({ executablePath: executablePath!, chromiumSandbox: false })
}

const problems = new WeakMap<Page, string[]>()

async function open(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    colorScheme: 'light',
    viewport: { width: 1280, height: 800 },
    ...options,
  })
  const page = await context.newPage()
  const found: string[] = []
  problems.set(page, found)
  const origins = new Set<string>()
  page.on('console', (message) => {
    const type = message.type()
    if (type === 'error' || type === 'warning') found.push(`${type}: ${message.text()}`)
  })
  page.on('pageerror', (error) => found.push(`uncaught: ${error.message}`))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText
    if (reason === 'net::ERR_ABORTED') return // by the page, or by leaving it
    found.push(`${request.url()} failed: ${reason}`)
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (origins.size === 0) origins.add(origin)
    if (!origins.has(origin)) found.push(`${request.url()} is of another origin`)
  })
  await page.addInitScript(noteViolations)
  return page
}

/**
 * Returns what has gone wrong on the page since it was opened, one line each. A request to any
 * origin other than that of the first request counts as a problem.
 */
export function problemsOf(page: Page): readonly string[] {
  return problems.get(page)!
}

interface Barrier {
  id: string
  help: string
  nodes: { html: string; failureSummary: string }[]
}

/** Resolves to the findings of axe-core on the page, one line each. */
export async function barriersOn(page: Page): Promise<string[]> {
  const found = await barriers(page)
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}: ${failureSummary}`),
  )
}

async function barriers(page: Page): Promise<Barrier[]> {
  await page.evaluate(axe)
  return page.evaluate<Barrier[]>('axe.run(document).then(({ violations }) => violations)')
}
