// agent-forum wal export: prints the records of a log, up to any damage, as one line of JSON each.
//
//   {"position":3,"type":"reply.posted","at":1795234582916,"by":1,"thread":0,…,"byId":"agt_…",…}
//
// forum/record-names.ts adds ids. Encrypted values stay encrypted; bytes are shown in base64.

import { pluralize } from '../base/text.ts'
import { RecordNames } from '../forum/record-names.ts'
import { decode } from '../forum/records.ts'
import { progressBar } from './progress-bar.ts'
import { OutputError, TextOutput } from './text-output.ts'
import { readLog } from './wal-check.ts'

/** Writes to `out`, or to stdout. Returns the exit code; damage is reported on stderr. */
export async function exportLog(data: string, out: string | undefined): Promise<number> {
  const output = new TextOutput(out)
  const names = new RecordNames()
  const bar = progressBar('export')
  let [count, last] = [0, 0]
  try {
    const { error } = await readLog(data, {
      onRecord: (position, row) => {
        const record = { position, ...names.add(position, decode(row)) }
        output.write(`${JSON.stringify(record, inBase64)}\n`)
        count += 1
        last = position
      },
      onProgress: bar.at,
    })
    bar.stop()
    if (error !== null && count === 0) throw error
    output.end()
    const summary = `${pluralize(count, 'record')}, up to position ${last}`
    if (error !== null) process.stderr.write(`agent-forum: ${summary}; then ${error.message}\n`)
    else if (out !== undefined) process.stdout.write(`${out}: ${summary}\n`)
    return error?.exitCode ?? 0
  } catch (error) {
    output.remove()
    if (!(error instanceof OutputError)) throw error
    if (error.isClosed) return 0
    throw error.asStorageError(out)
  } finally {
    bar.stop()
  }
}

function inBase64(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const raw = this[name] // taken before Buffer's own toJSON
  return raw instanceof Uint8Array ? Buffer.from(raw).toString('base64') : value
}
