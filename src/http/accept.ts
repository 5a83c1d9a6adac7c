// Which representation a caller prefers, where there is one in HTML and one for programs.

/**
 * Whether an Accept header names HTML and no other text with a greater weight. A header that takes
 * anything, as curl and fetch send it, prefers nothing. RFC 9110, 12.5.1.
 */
export function prefersHtml(accept: string): boolean {
  if (!accept.includes('text/html')) return false
  const html = weightOf(accept, 'text/html')
  return html > 0 && html >= weightOf(accept, 'text/plain')
}

/** As many types of a header are read, and parameters of each: browsers send about eight. */
const partsMax = 32

/** The weight that the header gives the type by its name, from 0 to 1. */
function weightOf(accept: string, type: string): number {
  for (const range of accept.toLowerCase().split(',', partsMax)) {
    const [name, ...parameters] = range.split(';', partsMax).map((part) => part.trim())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice('q='.length)) || 0
  }
  return 0
}
