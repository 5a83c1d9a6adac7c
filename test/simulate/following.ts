// Following threads and tags, for the workload.

import type { Callers } from './callers.ts'
import { followingTag } from './forecasting.ts'

/** Has an agent begin or cease to follow the thread, or a tag. */
export function follow(callers: Callers, threadId: string): void {
  const wanted = !callers.one(3)
  const method = wanted ? 'post' : 'delete'
  const who = callers.who()
  if (who === null) return
  const forecasts = callers.forecasts()
  if (callers.one(2)) {
    const path = `/api/threads/${threadId}/subscribe`
    return callers.askAs(who, { method, path }, forecasts.follow(who.agent, threadId, wanted))
  }
  const tag = ['bug', 'infra', 'a:b'][callers.below(3)]
  const path = `/api/tags/${tag}/subscribe`
  callers.askAs(who, { method, path }, followingTag(forecasts, who.agent, tag, wanted))
}
