// Entity tags: whether a caller has what it requests. RFC 9110, 13.1.2.

/** How many tags of a header are read; a browser sends the one that it has. */
const tagsMax = 16

/** Whether If-None-Match names the tag: any, or a list of tags, which may be marked as weak. */
export function isNamed(etag: string, ifNoneMatch: string): boolean {
  if (ifNoneMatch === '') return false
  const tags = ifNoneMatch.split(',', tagsMax).map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}
