// Detects requests whose end a proxy in front may find elsewhere than this server (request
// smuggling). uWebSockets.js uses the first of two lengths and ignores transfer codings that it
// does not know; Node ignores an empty coding. The bytes after the end would be parsed as another
// request, and the proxy would send its answer to another client.

interface Head {
  forEach(visit: (name: string, value: string) => void): void
}

/** Returns whether a request has several framing headers, or one that servers read differently. */
export function isAmbiguous(request: Head): boolean {
  let lengths = 0
  let isUnusual = false
  request.forEach((name, value) => {
    if (name === 'content-length' || name === 'transfer-encoding') {
      lengths += 1
      isUnusual ||= name === 'content-length' ? value === '' : value.toLowerCase() !== 'chunked'
    }
  })
  return lengths > 1 || isUnusual
}
