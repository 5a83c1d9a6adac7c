// Hostile texts on a page in Chromium, and the traces that they would leave if one became markup.

import type { Page } from 'playwright-core'
import { sampleOf } from '../../depth.ts'
import { hostileTexts } from '../hostile.ts'

/** The texts, changed so that each leaves a mark in the page if it runs. */
export const payloads = sampleOf('HOSTILE_TEXTS', hostileTexts).map((text) =>
  text.toWellFormed().replaceAll('alert(1)', 'window.__pwned=alert(1)'),
)

/** Returns a list that collects the dialogs the page opens from now on. They are dismissed. */
export function dialogsOf(page: Page): string[] {
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  return dialogs
}

/** The result of `harmOn` for a page that treats texts as text, on a phone. */
export const unharmed = { ran: false, foreign: [], handlers: [], footers: 1, width: 360 }

/** Looks for harm that texts have done to a page. `foreign` selects what only they could add. */
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
