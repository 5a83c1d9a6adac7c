// The output of a shell command: lines for people and agents, or JSON lines.
//
// O1. Content written by others cannot control a terminal, nor pass for a line of the program:
//     control characters and hidden ones are shown as codes, contents are indented, and names and
//     titles have no line breaks.
// O2. JSON has no character that controls a terminal, either: they are escaped as `\u`.

import { codeOf, hidden } from '../../base/text.ts'

const everyHidden = new RegExp(`(?<=\\p{Emoji})\\ufe0f|(${hidden.source})`, 'gu')
const actsInJson = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

export class Output {
  readonly json: boolean

  constructor(json: boolean) {
    this.json = json
  }

  /** Prints the answer as JSON, or as these lines. */
  answer(answer: object, lines: string | readonly string[]): void {
    if (this.json) process.stdout.write(`${jsonLine(answer)}\n`)
    else this.lines(lines)
  }

  /** Prints a remark about the output on standard error; nothing with `--json`. */
  remark(sentence: string): void {
    if (!this.json) process.stderr.write(`${sentence}\n`)
  }

  /** Prints lines for people; nothing with `--json`. */
  lines(lines: string | readonly string[]): void {
    if (!this.json) for (const line of [lines].flat()) process.stdout.write(`${line}\n`)
  }
}

/** Returns one line of JSON, as the service sent it. */
export function jsonLine(value: object): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(actsInJson, escaped)
}

export function inLine(text: string): string {
  return visible(text.replace(/[\t\n\r]+/g, ' '))
}

export function indented(text: string): string[] {
  return visible(text.trimEnd().replace(/\r\n?/g, '\n'))
    .split('\n')
    .map((line) => `  ${line}`.trimEnd())
}

/** Returns a time as `2026-11-23 08:27`, in UTC. */
export function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
}

function visible(text: string): string {
  return text.replace(everyHidden, (all: string, found: string | undefined) => {
    return found === undefined ? all : codeOf(found.codePointAt(0)!)
  })
}
