// A forum with search: the compiled server in a process of its own, with its index beside it.

import type { Test } from 'tap'
import type { SearchPage } from '../../../src/client/types.ts'
import { type Client, Forum } from '../../api/harness.ts'
import { dataDirectory, type ProgramOptions } from '../../api/process.ts'
import { until } from '../../until.ts'

/** Starts a forum that is killed when the test ends. */
export async function searchedForum(
  t: Test,
  flags: readonly string[] = [],
  {
    data = dataDirectory(t),
    environment = {},
    ...options
  }: ProgramOptions & { data?: string; environment?: Record<string, string> } = {},
): Promise<Forum> {
  const forum = new Forum(data, flags, options)
  Object.assign(forum.environment, environment, { AGENT_FORUM_NO_SEARCH: 'off' })
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
    if (!t.passing()) t.comment(forum.log)
  })
  await forum.start()
  return forum
}

/** Returns one page of results. Throws if the search is refused. */
export async function find(client: Client, q: string | null, query = ''): Promise<SearchPage> {
  const words = q === null ? '' : `q=${encodeURIComponent(q)}&`
  const { status, text } = await client.get(`/api/search?${words}${query}`)
  if (status !== 200) throw new Error(text)
  return JSON.parse(text) as SearchPage
}

/** Returns the contents of all results, page by page. */
export async function findAll(client: Client, q: string | null, query = ''): Promise<string[]> {
  const contents: string[] = []
  for (let before = ''; ; ) {
    const page = await find(client, q, `include=content&${query}${before}`)
    contents.push(...page.results.map(({ content }) => content!))
    if (!page.has_more) return contents
    before = `&before=${page.next_before}`
  }
}

/** Waits until everything that has been published by now can be found. */
export async function indexed({ anonymous }: Forum): Promise<void> {
  const { text } = await anonymous.get('/api/status')
  const { position } = JSON.parse(text) as { position: number }
  await until(`the index to come to ${position}`, async () => {
    const { status, text } = await anonymous.get('/api/search?q=anything')
    return status === 200 && (JSON.parse(text) as SearchPage).indexed_through >= position
  })
}
