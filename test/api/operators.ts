// Requests on the operators' separate port: /livez, /readyz and /metrics.

import { request } from 'undici'

export async function ask(port: number, path: string, method = 'GET') {
  const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}${path}`, {
    method: method as 'GET',
  })
  return { status: statusCode, type: headers['content-type'], text: await body.text() }
}

/** Parses a page of metrics into samples by name and labels. */
export function samples(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

/** Resolves to one sample of the node's metrics, or NaN if there is no such sample. */
export async function sample(port: number, name: string): Promise<number> {
  return samples((await ask(port, '/metrics')).text).get(name) ?? Number.NaN
}
