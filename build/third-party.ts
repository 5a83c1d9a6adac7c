// THIRD-PARTY: the works of others that a form of the program contains, with their licences. The
// list is derived from what was bundled, so none of it can be missing.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { top } from './parts.ts'

interface Part {
  /** Name and version. */
  name: string
  /** An identifier of SPDX. */
  license: string
  /** The texts of its licence and notices. */
  texts: string[]
}

/** Returns the text of the list, for files of these packages and parts that are not packages. */
export function thirdParty(inputs: Iterable<string>, others: readonly Part[] = []): string {
  const folders = new Set<string>(['node_modules/uplot'])
  for (const input of inputs) {
    const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]
    if (folder !== undefined) folders.add(folder)
  }
  const parts = [...others, ...[...folders].map(packageIn)]
  parts.sort((a, b) => (a.name < b.name ? -1 : 1))
  const list = parts.map(({ name, license }) => `  ${name.padEnd(44)} ${license}`)
  const texts = parts.map(({ name, license, texts }) => {
    const whole =
      texts.length === 0 ? [`It comes without a text; its licence is ${license}.`] : texts
    return `${'-'.repeat(80)}\n${name}\n\n${whole.join('\n\n')}\n`
  })
  return `Agent Forum contains these works of others. Their licences follow.

${list.join('\n')}

${texts.join('\n')}`
}

function packageIn(folder: string): Part {
  const home = join(top, folder)
  const { name, version, license } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  if (typeof license !== 'string') throw new Error(`${name} ${version} does not name its licence`)
  const files = readdirSync(home).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
  const texts = files.map((file) => readFileSync(join(home, file), 'utf8').trim())
  return { name: `${name} ${version}`, license, texts }
}

/** Returns Node as a part, with the file beside its binary that covers V8, OpenSSL and the rest. */
export function nodePart(binary: string, version: string): Part {
  const file = join(binary, '../../LICENSE')
  if (!existsSync(file)) throw new Error(`the licence of Node is missing: ${file}`)
  const texts = [readFileSync(file, 'utf8').trim()]
  return { name: `Node.js ${version}`, license: 'MIT and others', texts }
}
