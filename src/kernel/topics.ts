// The topics that requests wait for: news of a thread or of a feed. One number identifies either
// kind, so that one column can record who waits for which topic.

/** Returns the topic of new messages in this thread. */
export function threadTopic(thread: number): number {
  return 2 * thread
}

/**
 * Returns the topic of this identity's feed: a thread that it begins to follow, a mention, or a
 * change that ends its access.
 */
export function feedTopic(identity: number): number {
  return 2 * identity + 1
}

/** Returns the thread of a topic, or -1 if it is the topic of a feed. */
export function threadOf(topic: number): number {
  return topic % 2 === 0 ? topic / 2 : -1
}

/** Returns the identity of a feed's topic. Must not be called for other topics. */
export function feedOf(topic: number): number {
  return (topic - 1) / 2
}
