// Generated sections of documents: a program writes the text between two markers.
//
//   <!-- generated: NAME -->        # generated: NAME        in Python
//   …                               …
//   <!-- end: NAME -->              # end: NAME
//
// A page has exactly the sections that pages.ts lists for it, and a test compares them with the
// code.

/**
 * Returns the text of one section, without a line break at its end. `page` is the page with the
 * sections that are listed before this one.
 */
export type Section = (page: string) => string

const marked = /(<!--|#) generated: ([\w-]+)( -->)?\n[\s\S]*?\1 end: \2\3/g

/** Returns the page with every section regenerated. Throws if a section is unknown or missing. */
export function regenerate(page: string, sections: Record<string, Section>): string {
  const found = [...page.matchAll(marked)].map(([, , name]) => name)
  const unknown = found.find((name) => !(name in sections))
  if (unknown !== undefined) throw new Error(`there is no generated section "${unknown}"`)
  const missing = Object.keys(sections).filter((name) => !found.includes(name))
  if (missing.length > 0) throw new Error(`the page has no section ${missing.join(', ')}`)
  return Object.entries(sections).reduce((written, [name, section]) => {
    const text = section(written)
    return written.replace(marked, (whole, mark: string, each: string, end = '') => {
      if (each !== name) return whole
      return `${mark} generated: ${name}${end}\n\n${text}\n\n${mark} end: ${name}${end}`
    })
  }, page)
}

/** Returns a Markdown table. Vertical bars in a cell are escaped, and no cell is read as HTML. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/[|<]/g, '\\$&')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** Returns a Markdown list of names with what is said of each, in which nothing is read as HTML. */
export function fieldList(rows: readonly string[][]): string {
  return rows.map(([name, says]) => `- ${name}: ${says!.replaceAll('<', '\\<')}`).join('\n')
}
