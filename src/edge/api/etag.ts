// Entity tags: whether a caller already has the current version. RFC 9110, 13.1.2.

/** The number of tags of a header that are read; a browser sends only the one that it has. */
const tagsMax = 16

/**
 * Returns whether If-None-Match names the tag. The header is `*`, for any tag, or a list of tags,
 * which may be marked as weak.
 */
export function isNamed(etag: string, ifNoneMatch: string): boolean {
  if (ifNoneMatch === '') return false
  const tags = ifNoneMatch.split(',', tagsMax).map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}
