// A person with a browser without scripts, who sends the forms that the pages of a node contain.

import { type Dispatcher, request } from 'undici'
import { browserAccept } from '../../people/browser.ts'
import { type Element, elementsOf } from '../../people/markup.ts'
import { formOn } from '../../people/person.ts'
import { until } from '../../until.ts'

/** Asks again while the answer is 503, as that of nodes that hear nothing for a moment. */
function unlessBusy(ask: () => Promise<Page>): Promise<Page> {
  return until('another answer than 503', async () => {
    const page = await ask()
    return page.status !== 503 && page
  })
}

export class Visitor {
  cookie = ''
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  open(path: string): Promise<Page> {
    return unlessBusy(async () => {
      return this.#shown(await request(this.#url + path, { headers: this.#headers() }))
    })
  }

  /** Fills in a form of a page, and sends it until it is taken. */
  send(page: Page, path: string, filled: Record<string, string>): Promise<Page> {
    return unlessBusy(() => this.fill(page, path, filled))
  }

  /** Fills in a form of a page, and sends it. */
  async fill(page: Page, path: string, filled: Record<string, string>): Promise<Page> {
    const body = new URLSearchParams(formOn(page, path, Object.keys(filled)[0]))
    for (const [name, value] of Object.entries(filled)) body.set(name, value)
    const type = 'application/x-www-form-urlencoded'
    const headers = { ...this.#headers(), 'content-type': type, origin: this.#url }
    return this.#shown(
      await request(this.#url + path, { method: 'POST', headers, body: `${body}` }),
    )
  }

  #headers(): Record<string, string> {
    return { accept: browserAccept, cookie: this.cookie }
  }

  async #shown({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Page> {
    const set = headers['set-cookie']
    if (set !== undefined) this.cookie = `${set}`.split(';')[0]!
    const text = await body.text()
    const elements = text === '' ? [] : elementsOf(text)
    return { status: statusCode, location: `${headers.location ?? ''}`, text, elements }
  }
}

interface Page {
  status: number
  location: string
  text: string
  elements: Element[]
}
