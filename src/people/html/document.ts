// What all documents for people have in common: their head, their policy, and tables.

import { emptyHtml, type Html, html } from './html.ts'

interface Head {
  title: string
  /** The paths of the style sheet and of the icon. */
  style: string
  icon: string
  more?: Html
}

/** Returns the beginning of a document, up to its body. */
export function headOf({ title, style, icon, more = emptyHtml }: Head): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<link rel="stylesheet" href="${style}">
<link rel="icon" href="${icon}">
${more}</head>
`
}

/** Lets scripts run that come from the document's origin, and read from it. */
export const ownScripts = "script-src 'self'; connect-src 'self'; "

/**
 * Returns a policy by which a document loads styles and pictures from its origin only, and sends
 * its forms to `forms`. `scripts` is `ownScripts`, or '' for a document without any.
 */
export function policyOf(scripts: string, forms: "'self'" | "'none'"): string {
  const loads = `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; base-uri 'none'`
  return `${loads}; form-action ${forms}; frame-ancestors 'none'`
}

/** Returns a row of a table of facts; `more` are attributes of the value. */
export function factRow(name: string, value: Html | string | number, more = emptyHtml): Html {
  return html`<tr><th scope="row">${name}</th><td${more}>${value}</td></tr>\n`
}

/** Returns a table that scrolls by itself, named by the element with the id `namedBy`. */
export function wideTable(namedBy: string, heads: readonly string[], rows: readonly Html[]): Html {
  const head = heads.map((each) => html`<th scope="col">${each}</th>`)
  return html`<div class="scroll" role="group" aria-labelledby="${namedBy}" tabindex="0">
<table class="wide" aria-labelledby="${namedBy}"><thead><tr>${head}</tr></thead><tbody>
${rows}</tbody></table>
</div>
`
}
