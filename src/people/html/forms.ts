// The parts of forms, on the pages for people and on those of operators.

import { emptyHtml, escapeForInput, type Html, html } from './html.ts'

/** What is wrong with a form: a sentence for the page, or for one of its fields. */
export interface Problem {
  status: number
  text: string
  field?: string
}

/** Returns the problem as a paragraph above the form, unless it is that of a field. */
export function problemNote(problem: Problem | null): Html {
  if (problem === null || problem.field !== undefined) return emptyHtml
  return html`<p class="problem" role="alert">${problem.text}</p>\n`
}

interface Field {
  name: string
  /** The id of the control, if it is not the name. */
  id?: string
  label: string
  value: string
  problem?: Problem | null
  more?: Html
  /** The number of rows of a text area; without it the control is a line. */
  rows?: number
  hint?: string
}

/** Returns a control with its label and, if it has one, its problem. */
export function field(of: Field): Html {
  const { name, id = name, label, value, problem = null, more = emptyHtml, rows, hint } = of
  const isWrong = problem?.field === name
  const notes = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(isWrong ? [`${id}-problem`] : []),
  ]
  const described = notes.length === 0 ? emptyHtml : html` aria-describedby="${notes.join(' ')}"`
  const invalid = isWrong ? html` aria-invalid="true" autofocus=""` : emptyHtml
  const names = html`id="${id}" name="${name}"`
  const control =
    rows === undefined
      ? html`<input ${names} value="${escapeForInput(value)}"${more}${described}${invalid}>`
      : html`<textarea ${names} rows="${rows}" dir="auto"${more}${described}${invalid}>
${escapeForInput(value)}</textarea>`
  return html`<p class="field"><label for="${id}">${label}</label>
${control}
${hint === undefined ? emptyHtml : html`<span class="hint" id="${id}-hint">${hint}</span>\n`}${
  isWrong
    ? html`<span class="problem" id="${id}-problem" role="alert">${problem.text}</span>\n`
    : emptyHtml
}</p>
`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${escapeForInput(value)}">\n`
}
