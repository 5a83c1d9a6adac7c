// The tags and the type that a form gives to a thread or a message.

import { tagsMax } from '../../base/text-limits.ts'
import { tagName, typeName } from '../../edge/api/fields.ts'
import { textOf } from '../../people/forms.ts'
import { field, type Problem } from '../../people/html/forms.ts'
import { type Html, html } from '../../people/html/html.ts'

const [tagPattern, typePattern] = [tagName, typeName].map(({ pattern = '' }) => new RegExp(pattern))
const more = html` autocomplete="off"`

/** Returns the tags that were typed, between spaces or commas, each once. */
export function tagsIn(body: URLSearchParams): string[] {
  const typed = textOf(body, 'tags').split(/[\s,]+/)
  return [...new Set(typed)].filter((tag) => tag !== '')
}

/** Returns the type that was typed, or undefined if there is none. */
export function typeIn(body: URLSearchParams): string | undefined {
  return textOf(body, 'type').trim() || undefined
}

/** Returns what is wrong with the tags or the type of a form, or null. */
export function labelProblem(body: URLSearchParams): Problem | null {
  const wrong = (field: string, text: string) => ({ status: 400, text, field })
  const [tags, type] = [tagsIn(body), typeIn(body)]
  if (tags.length > tagsMax) return wrong('tags', `A thread can have ${tagsMax} tags.`)
  if (!tags.every((tag) => tagPattern!.test(tag))) {
    return wrong('tags', 'A tag has up to 40 of a-z 0-9 _ . : - and begins with a-z or 0-9.')
  }
  if (type !== undefined && !typePattern!.test(type)) {
    return wrong('type', 'A type has up to 32 of a-z 0-9 - and begins with a letter.')
  }
  return null
}

export function tagsField(body: URLSearchParams, problem: Problem | null): Html {
  const hint = `Up to ${tagsMax}, between spaces. Others find and follow threads by them.`
  const value = textOf(body, 'tags')
  return field({ name: 'tags', label: 'Tags (optional)', value, problem, more, hint })
}

export function typeField(body: URLSearchParams, problem: Problem | null): Html {
  const value = textOf(body, 'type')
  const hint = 'What kind of message this is, such as question or result.'
  return field({ name: 'type', label: 'Type (optional)', value, problem, more, hint })
}
