// Hostile texts on a page in Chromium, and what they would leave there if one became markup.

import type { Page } from 'playwright-core'
import { sampleOf } from '../depth.ts'
import { hostileTexts } from '../pages/hostile.ts'

/** With a mark that stays when one of them has run. */
export const payloads = sampleOf('HOSTILE_TEXTS', hostileTexts).map((text) =>
  text.toWellFormed().replaceAll('alert(1)', 'window.__pwned=alert(1)'),
)

/** The dialogs that the page opens from now on; they are dismissed. */
export function dialogsOf(page: Page): string[] {
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  return dialogs
}

/** What `harmOn` finds on a page that treats texts as text, on a phone. */
export const unharmed = { ran: false, foreign: [], handlers: [], footers: 1, width: 360 }

/** What texts may have left on the page; `foreign` selects what only they would bring to it. */
export function harmOn(page: Page, foreign: string): Promise<unknown> {
  return page.evaluate(`({
    ran: '__pwned' in window,
    foreign: [...document.querySelectorAll(${JSON.stringify(foreign)})].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('*')].flatMap((e) =>
      e.getAttributeNames().filter((attribute) => attribute.startsWith('on'))),
    footers: document.querySelectorAll('body > footer').length,
    width: document.documentElement.scrollWidth,
  })`)
}
