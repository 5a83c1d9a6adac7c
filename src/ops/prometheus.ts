// Renders metrics in the text format of Prometheus (version 0.0.4).

export type Labels = Record<string, string>

export interface Sample {
  value: number
  labels?: Labels
}

/** A number that goes up and down, or one for each set of labels. */
export function gauge(name: string, help: string, value: number | readonly Sample[]): string {
  return family(name, 'gauge', help, value)
}

/** A number that only grows while the process lives. `name` ends with `_total`. */
export function counter(name: string, help: string, value: number | readonly Sample[]): string {
  return family(name, 'counter', help, value)
}

export interface Histogram {
  labels?: Labels
  /** Upper bounds; `counts` has one more element, for values above the last bound. */
  bounds: readonly number[]
  counts: ArrayLike<number>
  sum: number
}

/** Distributions, one for each set of labels. `counts` are not cumulative. */
export function histogram(name: string, help: string, series: readonly Histogram[]): string {
  const lines = [head(name, 'histogram', help)]
  for (const { labels = {}, bounds, counts, sum } of series) {
    let count = 0
    for (const [i, bound] of [...bounds, Number.POSITIVE_INFINITY].entries()) {
      count += counts[i]
      const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : `${bound}`
      lines.push(sample(`${name}_bucket`, { ...labels, le }, count))
    }
    lines.push(sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, count))
  }
  return lines.join('')
}

function family(
  name: string,
  type: string,
  help: string,
  value: number | readonly Sample[],
): string {
  const samples = typeof value === 'number' ? [{ value }] : value
  const lines = samples.map(({ labels = {}, value }) => sample(name, labels, value))
  return head(name, type, help) + lines.join('')
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
