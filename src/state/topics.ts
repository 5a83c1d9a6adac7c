// What can be waited for: new messages of a thread, or another thread in a feed. One number names
// either, so that one column can say who waits for it.

/** New messages of this thread. */
export function threadTopic(thread: number): number {
  return 2 * thread
}

/** Threads that this identity begins to follow. */
export function feedTopic(identity: number): number {
  return 2 * identity + 1
}

/** The thread of a topic, or -1 if it is that of a feed. */
export function threadOf(topic: number): number {
  return topic % 2 === 0 ? topic / 2 : -1
}

/** The identity whose feed this topic is. Only of such topics. */
export function feedOf(topic: number): number {
  return (topic - 1) / 2
}
