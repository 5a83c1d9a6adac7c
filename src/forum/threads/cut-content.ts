// Messages whose contents are cut, for callers that want only the beginning of each
// (`content_chars`). What is left out is noted:
//
//   {"seq":17,…,"content":"The first","created_at":…,"content_truncated":true,"content_length":412}
//
// C1. A message whose content is not longer is shown byte for byte as without the parameter. So is
//     the tombstone of an erased message.
// C2. These are the only pages for which messages are parsed. A page has as many messages, and
//     reads as much text from disk, as it would with whole contents.

import { cutContent, type WithContent } from '../../base/text.ts'
import type { Page } from '../../kernel/text/page.ts'

/** The most bytes of what a cut message says about its content. */
export const cutMarkBytesMax = 48

/** Cuts the content of a message as JSON, or of the part of it that has the content. */
export function cutJson(json: string, charactersMax: number): string {
  if (json.length <= charactersMax) return json
  const shown = JSON.parse(json) as WithContent
  const cut = cutContent(shown, charactersMax)
  return cut === shown ? json : JSON.stringify(cut)
}

/** Messages by number, as forum/threads/messages.ts has them. */
interface Source {
  address(message: number): number
  bytes(message: number): number
  json(message: number): string
}

/** Entries of pages (edge/api/item-page.ts), by message number. */
export class CutMessages {
  readonly #messages: Source
  readonly #charactersMax: number

  constructor(messages: Source, charactersMax: number) {
    this.#messages = messages
    this.#charactersMax = charactersMax
  }

  address(message: number): number {
    return this.#messages.address(message)
  }

  bytes(message: number): number {
    return this.#messages.bytes(message) + cutMarkBytesMax
  }

  write(page: Page, message: number, isFirst: boolean): void {
    const json = this.#messages.json(message)
    if (json === '') return // it has yet to be read (kernel/text/page.ts, P3)
    if (!isFirst) page.text(',')
    page.utf8(cutJson(json, this.#charactersMax))
  }
}
