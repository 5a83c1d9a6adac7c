// Following threads and tags, for the workload.

import type { Callers } from './callers.ts'
import { followingTag } from './forecasting.ts'

/** Has an agent begin or cease to follow the thread, or a tag. */
export function follow(callers: Callers, threadId: string): void {
  const wanted = !callers.one(3)
  const method = wanted ? 'post' : 'delete'
  const who = callers.who()
  if (who === null) return
  if (callers.one(2)) {
    const path = `/api/threads/${threadId}/subscribe`
    const forecast = () => callers.forecasts().follow(who.agent, threadId, wanted)
    return callers.askAs(who, { method, path }, forecast)
  }
  const tag = ['bug', 'infra', 'a:b'][callers.below(3)]
  const path = `/api/tags/${tag}/subscribe`
  const forecast = () => followingTag(callers.forecasts(), who.agent, tag, wanted)
  callers.askAs(who, { method, path }, forecast)
}
