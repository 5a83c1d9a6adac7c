// Requests whose end a proxy may have located elsewhere.

import t from 'tap'
import { isAmbiguous } from '../../../src/edge/http/framing.ts'

function head(...headers: [name: string, value: string][]) {
  return {
    forEach(each: (name: string, value: string) => void) {
      for (const [name, value] of headers) each(name, value)
    },
  }
}

t.test('framing: one length or one chunked coding: clear', async (t) => {
  t.notOk(isAmbiguous(head(['host', 'a'])))
  t.notOk(isAmbiguous(head(['host', 'a'], ['content-length', '5'])))
  t.notOk(isAmbiguous(head(['transfer-encoding', 'chunked'])))
  t.notOk(isAmbiguous(head(['transfer-encoding', 'Chunked'])))
})

t.test('framing: two, an empty one, or another coding: ambiguous', async (t) => {
  t.ok(isAmbiguous(head(['content-length', '5'], ['content-length', '5'])))
  t.ok(isAmbiguous(head(['content-length', '5'], ['transfer-encoding', 'chunked'])))
  t.ok(isAmbiguous(head(['content-length', ''])))
  t.ok(isAmbiguous(head(['transfer-encoding', ''])))
  t.ok(isAmbiguous(head(['transfer-encoding', 'xchunked'])))
  t.ok(isAmbiguous(head(['transfer-encoding', 'gzip, chunked'])))
})
