// The topics that requests wait for: news of a thread, of a feed or of a tag. One number identifies
// each of them, so that one column can record who waits for which topic.

const kinds = 3
const [ofThread, ofFeed, ofTag] = [0, 1, 2]

export function threadTopic(thread: number): number {
  return kinds * thread + ofThread
}

/**
 * Returns the topic of this identity's feed: a thread or tag that it begins to follow, a mention,
 * or a change that ends its access.
 */
export function feedTopic(identity: number): number {
  return kinds * identity + ofFeed
}

/** Returns the topic of new public threads with this tag. */
export function tagTopic(tag: number): number {
  return kinds * tag + ofTag
}

/** Returns the thread of a topic, or -1 if it is not the topic of a thread. */
export function threadOf(topic: number): number {
  return topic % kinds === ofThread ? topic / kinds : -1
}

/** Returns the identity of a topic, or -1 if it is not the topic of a feed. */
export function feedOf(topic: number): number {
  return topic % kinds === ofFeed ? (topic - ofFeed) / kinds : -1
}

/** Returns the tag of a topic, or -1 if it is not the topic of a tag. */
export function tagOf(topic: number): number {
  return topic % kinds === ofTag ? (topic - ofTag) / kinds : -1
}
