// A reader that its main process tells something before it has loaded its state, which takes longer
// than the main process waits with it.

import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import pino from 'pino'
import t from 'tap'
import {
  type Kind,
  kinds,
  packedMessage,
  Splitter,
  unpacked,
} from '../../src/cluster/readers/messages.ts'
import type { ReaderReport } from '../../src/cluster/readers/report.ts'
import type { ReaderSetup } from '../../src/cluster/readers/setup.ts'
import { checkSettings, findSettings, settingTexts } from '../../src/config/config.ts'
import { runReader } from '../../src/node/reader.ts'
import { dataDirectory } from '../api/process.ts'
import { until } from '../until.ts'

t.test('reader: told while it loads when identities were last seen: knows it', async (t) => {
  const data = dataDirectory(t)
  mkdirSync(data)
  const settings = findSettings(['--data', data, '--no-search'], {})
  const { nodeLimits } = checkSettings(settings, {})
  const setup: ReaderSetup = {
    ...{ reader: 1, version: '0.0.0', storeId: '0'.repeat(32), epoch: '', epochBegin: null },
    ...{ role: 'single', publicUrl: 'http://localhost', sessionKey: Buffer.alloc(32), port: 1 },
    ...{ texts: settingTexts(settings), nodeLimits },
  }
  const sent: Kind[] = []
  let seen: number[] = []
  const splitter = new Splitter((kind, payload) => {
    sent.push(kind)
    if (kind === kinds.report) seen = seen.concat((unpacked(payload) as ReaderReport).seen)
  })
  const socket = Object.assign(new EventEmitter(), {
    write: (bytes: Buffer) => splitter.add(bytes),
  })
  await new Promise<void>((exit) => {
    runReader(socket as unknown as Socket, {
      openLog: () => pino({ level: 'silent' }),
      fail: (error) => {
        throw error
      },
      exit,
    })
    socket.emit('data', packedMessage(kinds.setup, setup))
    socket.emit('data', packedMessage(kinds.seen, [3, 29_000_000]))
    t.notOk(sent.includes(kinds.start), 'its state is not loaded yet')
    socket.emit('data', packedMessage(kinds.seen, [4, 29_000_001]))
    const isLoaded = () => sent.includes(kinds.start) && sent.at(-1) === kinds.report
    const reported = until('its first report after that', isLoaded)
    reported.finally(() => socket.emit('close'))
  })
  t.strictSame(seen, [3, 29_000_000, 4, 29_000_001])
})
