// Whether a proxy in front may have seen the request end elsewhere than the library under us does.
// uWebSockets.js takes the first of two lengths and does not look at codings that it does not know;
// for Node an empty coding is none. What follows would then be taken for a request of its own:
// somebody else's, by the proxy.

interface Head {
  forEach(each: (name: string, value: string) => void): void
}

export function isAmbiguous(request: Head): boolean {
  let lengths = 0
  let isOdd = false
  request.forEach((name, value) => {
    if (name === 'content-length' || name === 'transfer-encoding') {
      lengths += 1
      isOdd ||= name === 'content-length' ? value === '' : value.toLowerCase() !== 'chunked'
    }
  })
  return lengths > 1 || isOdd
}
