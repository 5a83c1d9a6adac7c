// Ports that cannot be opened: what the operator is told, and which errors are not blamed on a
// setting.

import { readFileSync } from 'node:fs'
import pino from 'pino'
import t from 'tap'
import { ConfigError } from '../../src/base/arguments.ts'
import { Teardown } from '../../src/base/teardown.ts'
import { PortError, PortInUse } from '../../src/edge/http/port-error.ts'
import { openPorts } from '../../src/node/ports.ts'

/** Resolves to the error with which a node's ports open if its HTTP server fails in this way. */
function errorWith(fail: () => never): Promise<unknown> {
  const address = { host: '127.0.0.1', port: 8080, opsPort: 0 }
  const config = { ...address, trustProxy: null, readers: 0, allowedHosts: null }
  const http = { name: 'test', listen: async () => fail() }
  const parts = { config, http, edge: {}, log: pino({ level: 'silent' }) }
  const opening = openPorts(parts as unknown as Parameters<typeof openPorts>[0], new Teardown())
  return opening.catch((error) => error)
}

t.test('ports: the server cannot listen: a setting is wrong, or the port is in use', async (t) => {
  const notOurs = await errorWith(() => {
    throw new PortError('x is not an address of this machine')
  })
  t.ok(notOurs instanceof ConfigError)
  t.match(notOurs, {
    message: 'x is not an address of this machine; choose another --host or --port',
  })
  const inUse = await errorWith(() => {
    throw new PortInUse('127.0.0.1:8080 is in use by another process')
  })
  t.ok(inUse instanceof PortInUse)
})

t.test('ports: a file of the program is missing: no setting is blamed', async (t) => {
  const missing = await errorWith(() => {
    readFileSync(`${import.meta.filename}.missing`)
    throw new Error('it is there')
  })
  t.match(missing, { code: 'ENOENT' })
  t.notOk(missing instanceof ConfigError)
})
