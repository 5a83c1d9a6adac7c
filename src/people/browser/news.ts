// Shows the number of new messages on a page for people: in a thread by long polls, in the list of
// threads by a request every 20 seconds. The element with the id `news` describes the page. Without
// this script, a page stays as it is.
//
// N1. There is one poll at a time, and none while the page is hidden (while-visible.ts): hiding the
//     page aborts the poll in flight, because it takes one of the browser's few connections.
// N2. After an error, the next poll comes after the time in Retry-After or after a pause that
//     doubles, whichever is longer. The same holds if a poll ends early because too many wait
//     already.
// N3. No text becomes HTML here: the script shows only elements of a page that the node has made,
//     which the policy of the pages enforces (src/people/layout.ts).
// N4. New messages are counted up to one page, and not beyond.

import { enhance } from './enhance.ts'
import { whileVisible } from './while-visible.ts'

const waitSeconds = 25
/** A poll that ends sooner without news has not waited. */
const waitedMs = (waitSeconds / 2) * 1_000
/** A poll that is not answered within this time is lost. */
const timeoutMs = (waitSeconds + 15) * 1_000
const pauseMs = 1_000
const listPauseMs = 20_000
const [errorPauseMs, errorPauseMaxMs] = [2_000, 120_000]
/** The number of messages on a page, up to which they are counted (N4). */
const countedMax = 50

/**
 * The number of errors in a row, and the earliest time of the next request, in milliseconds since
 * the epoch (N2).
 */
const after = { errors: 0, mayAskAt: 0 }

let underWay = new AbortController()

/** Calls an operation of the interface. Rejects if it is refused, fails or is aborted. */
async function read<T>(path: string): Promise<T> {
  underWay = new AbortController()
  const lost = setTimeout(() => underWay.abort(), timeoutMs)
  try {
    const response = await fetch(path, { signal: underWay.signal })
    if (response.ok) return (await response.json()) as T
    const seconds = Number(response.headers.get('retry-after')) || 0
    after.mayAskAt = Date.now() + seconds * 1_000
    throw new Error(`${response.status}`)
  } finally {
    clearTimeout(lost)
  }
}

/** Calls `look` again and again, with this pause, while the page is visible (N1, N2). */
function keepLooking(pause: number, look: () => Promise<void>): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) underWay.abort()
  })
  whileVisible(pause, async () => {
    if (Date.now() < after.mayAskAt) return // and look again after the next pause
    try {
      await look()
      after.errors = 0
    } catch {
      if (document.hidden) return
      const longest = Math.min(errorPauseMs * 2 ** after.errors, errorPauseMaxMs)
      after.errors += 1
      const ownPause = longest * (0.5 + Math.random() / 2) // not all readers at once
      after.mayAskAt = Math.max(after.mayAskAt, Date.now() + ownPause)
    }
  })
}

/** Shows the number of new things as a link, or nothing if there are none. */
function say(place: HTMLElement, link: HTMLAnchorElement, count: number, what: string): void {
  const number = count > countedMax ? `More than ${countedMax}` : `${count}`
  const text = `${number} ${what}${count === 1 ? '' : 's'}, show`
  if (link.textContent !== text) link.textContent = text
  if (count === 0) place.replaceChildren()
  else if (link.parentNode === null) place.append(link)
}

/** Reads a page that the node has made, as elements. Scripts in it, if any, would not run. */
function readPage(url: string): Promise<Document> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('GET', url)
    request.setRequestHeader('Accept', 'text/html')
    request.responseType = 'document'
    request.timeout = timeoutMs
    request.onloadend = () => {
      const { status, responseXML } = request
      if (status === 200 && responseXML !== null) resolve(responseXML)
      else reject(new Error(`${status}`))
    }
    request.send()
  })
}

interface ThreadPage {
  messages: { seq: number }[]
  next_after: number
}

/** Watches a thread; `seq` is that of the newest message on the page. */
function watchThread(place: HTMLElement, id: string, seq: number): void {
  let [shown, known] = [seq, seq]
  /** The seqs of the messages that are known and not shown. */
  let unseen: number[] = []
  const link = document.createElement('a')

  keepLooking(pauseMs, async () => {
    if (unseen.length > countedMax) return
    const path = `/api/threads/${id}?after=${known}&wait=${waitSeconds}`
    const begun = performance.now()
    const page = await read<ThreadPage>(path)
    if (page.messages.length === 0 && performance.now() - begun < waitedMs) throw new Error('full')
    known = Math.max(known, page.next_after)
    unseen.push(...page.messages.map((message) => message.seq).filter((each) => each > shown))
    link.href = `/t/${id}?after=${shown}`
    say(place, link, unseen.length, 'new message')
  })

  /** Adds the new messages to the page. */
  async function show(): Promise<void> {
    const page = await readPage(link.href)
    const messages = [...page.querySelectorAll('article')]
    const summary = page.querySelector('main > .about')
    if (summary !== null) document.querySelector('main > .about')?.replaceWith(summary)
    document.querySelector('main > .none')?.remove()
    place.before(...messages)
    for (const each of messages) enhance(each)
    shown = Number(messages.at(-1)!.id.slice(1))
    known = Math.max(known, shown)
    unseen = unseen.filter((each) => each > shown) // they may have come while the page was read
    link.href = `/t/${id}?after=${shown}`
    say(place, link, unseen.length, 'new message')
    const first = messages[0]
    first.tabIndex = -1 // the keyboard continues from here
    first.focus()
  }

  link.addEventListener('click', (event) => {
    const isOwn = event.ctrlKey || event.metaKey || event.shiftKey || unseen.length > countedMax
    if (isOwn) return // the browser follows the link
    event.preventDefault()
    const { href } = link
    show().catch(() => location.assign(href))
  })
}

interface ThreadList {
  threads: { id: string; message_count: number }[]
}

/**
 * Watches the list of threads. `newest` is the id of the first one on the page, which has this
 * number of `messages`; '' if there is none.
 */
function watchList(place: HTMLElement, order: string, newest: string, messages: number): void {
  const link = document.createElement('a')
  link.href = `/?order=${order}`
  keepLooking(listPauseMs, async () => {
    const { threads } = await read<ThreadList>(`/api/threads?limit=${countedMax}&order=${order}`)
    const index = threads.findIndex(({ id }) => id === newest)
    const all = newest === '' ? threads.length : countedMax + 1
    const isUpdated = threads[index]?.message_count > messages
    say(place, link, index === -1 ? all : index + Number(isUpdated), 'updated thread')
  })
}

const place = document.getElementById('news')
if (place !== null) {
  const { thread, seq, order, newest, count } = place.dataset
  if (thread !== undefined) watchThread(place, thread, Number(seq))
  else if (order !== undefined) watchList(place, order, newest!, Number(count))
}
