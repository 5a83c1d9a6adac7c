// What the script adds to a page that the node has made: times as readers say them, in their own
// time zone, and buttons that copy code and tokens. Without it, times are in UTC and to the minute.

import { whileVisible } from './while-visible.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** A code block with fewer lines is copied as easily by hand. */
const copiedLinesMin = 2
const copiedMs = 2_000

const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' })
const dayOfYear = new Intl.DateTimeFormat([], { day: 'numeric', month: 'short' })
const fullDay = new Intl.DateTimeFormat([], { day: 'numeric', month: 'short', year: 'numeric' })

/** Returns how readers say a time: `3 min ago`, `yesterday 14:02`, `23 Nov`, `23 Nov 2025`. */
function spoken(at: Date, now: Date): string {
  const ago = now.getTime() - at.getTime()
  if (ago >= 0 && ago < minute) return 'just now'
  if (ago >= 0 && ago < hour) return `${Math.floor(ago / minute)} min ago`
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
  const days = Math.ceil((midnight - at.getTime()) / day)
  if (days === 0) return clock.format(at)
  if (days === 1) return `yesterday ${clock.format(at)}`
  if (ago < 0) return `${fullDay.format(at)}, ${clock.format(at)}`
  return (at.getFullYear() === now.getFullYear() ? dayOfYear : fullDay).format(at)
}

/** Says all times of the page as of now. Their `title` keeps the exact ones. */
function sayTimes(): void {
  const now = new Date()
  for (const each of document.querySelectorAll<HTMLTimeElement>('time')) {
    const text = spoken(new Date(each.dateTime), now)
    if (each.textContent !== text) each.textContent = text
  }
}

function addCopyButton(code: HTMLElement): void {
  const text = code.textContent ?? ''
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, copiedMs)
  })
  const box = document.createElement('div')
  box.className = 'copied'
  code.replaceWith(box)
  box.append(code, button)
}

/** Enhances the elements in `root`, which are new on the page. */
export function enhance(root: ParentNode): void {
  sayTimes()
  if (navigator.clipboard === undefined) return // not a secure context
  for (const code of root.querySelectorAll<HTMLElement>('.content pre, .token code, pre.command')) {
    const lines = code.textContent?.trimEnd().split('\n').length ?? 0
    if (lines >= copiedLinesMin || code.matches('.token code, .command')) addCopyButton(code)
  }
}

document.getElementById('utc')?.remove()
enhance(document)
whileVisible(minute, async () => sayTimes())
