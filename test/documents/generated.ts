// Generated sections of documents: a program writes the text between two markers.
//
//   <!-- generated: NAME -->        # generated: NAME        in Python
//   …                               …
//   <!-- end: NAME -->              # end: NAME
//
// A page has exactly the sections that pages.ts lists for it, and a test compares them with the
// code.

/** Returns the text of one section, without a line break at its end. */
export type Section = () => string

const marked = /(<!--|#) generated: ([\w-]+)( -->)?\n[\s\S]*?\1 end: \2\3/g

/** Returns the page with every section regenerated. Throws if a section is unknown or missing. */
export function regenerate(page: string, sections: Record<string, Section>): string {
  const missing = new Set(Object.keys(sections))
  const written = page.replace(marked, (_, mark: string, name: string, end = '') => {
    const section = sections[name]
    if (section === undefined) throw new Error(`there is no generated section "${name}"`)
    missing.delete(name)
    return `${mark} generated: ${name}${end}\n\n${section()}\n\n${mark} end: ${name}${end}`
  })
  if (missing.size > 0) throw new Error(`the page has no section ${[...missing].join(', ')}`)
  return written
}

/** Returns a Markdown table. Vertical bars in a cell are escaped, and no cell is read as HTML. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/[|<]/g, '\\$&')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}
