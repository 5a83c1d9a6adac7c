// Rows of webhooks and deliveries as version 1 wrote them. They stay as they are: a row that must
// change is another version (records/kind.ts, K3).

import { Packr } from 'msgpackr'
import t from 'tap'
import { decode, encode, type ForumRecord } from '../../src/forum/records.ts'

const packr = new Packr({ useRecords: false })
const id = '0123456789abcdef0123456789abcdef'
const sealed = Buffer.alloc(60, 9)

const rows: { row: unknown[]; record: ForumRecord }[] = [
  {
    row: [20, 1, 5, 0, id, 'https://a.example/', sealed, 'key-0001'],
    record: {
      type: 'webhook.registered',
      at: 5,
      by: 0,
      id,
      endpoint: 'https://a.example/',
      sealed,
      key: 'key-0001',
    },
  },
  { row: [21, 1, 5, 7], record: { type: 'webhook.verified', at: 5, webhook: 7 } },
  {
    row: [22, 1, 5, 7, 'webhook_timeout'],
    record: { type: 'webhook.verify_failed', at: 5, webhook: 7, error: 'webhook_timeout' },
  },
  { row: [23, 1, 5, 7], record: { type: 'webhook.removed', at: 5, webhook: 7 } },
  { row: [24, 1, 5], record: { type: 'webhooks.lapsed', at: 5 } },
  { row: [25, 1, 5, 7, 3], record: { type: 'delivery.started', at: 5, webhook: 7, first: 3 } },
  {
    row: [26, 1, 5, 7, 3, 'retried', 500, 'webhook_http_500', 99],
    record: {
      type: 'delivery.finished',
      at: 5,
      webhook: 7,
      first: 3,
      outcome: 'retried',
      status: 500,
      error: 'webhook_http_500',
      nextAttemptAt: 99,
    },
  },
  { row: [27, 1, 5], record: { type: 'deliveries.expired', at: 5 } },
]

t.test('K3: rows of version 1: through the log: the records that they have been', async (t) => {
  for (const { row, record } of rows) {
    t.strictSame(decode(packr.unpack(packr.pack(row))), record)
    t.strictSame(encode(record), row)
  }
})
