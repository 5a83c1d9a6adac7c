// The operators' port: /livez, /readyz and /metrics, on the loopback interface only.
//
// O1. It answers from the start on, also while the log is replayed and while the node drains.
// O2. /livez says that the event loop runs. /readyz says whether requests are answered; a full
//     disk does not change that, since reads are still answered.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Listener } from '../http/exchange.ts'
import { portError } from '../http/port-error.ts'
import { metrics } from './metrics.ts'
import { readiness } from './readiness.ts'
import type { Vitals } from './vitals.ts'

const host = '127.0.0.1'
const textType = 'text/plain; charset=utf-8'
const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

/** Serves until `stop` is called. Rejects with a sentence when it cannot listen on the port. */
export function serveOperators(port: number, vitals: Vitals): Promise<Listener> {
  const writeMetrics = metrics(vitals)
  const server = createServer(({ method, url }, response) => {
    const [path, query] = url!.split('?', 2)
    if (method !== 'GET' && method !== 'HEAD') return answer(response, 405, 'GET only\n')
    if (path === '/livez') return answer(response, 200, 'ok\n')
    if (path === '/metrics') return answer(response, 200, writeMetrics(), metricsType)
    if (path !== '/readyz') return answer(response, 404, '/livez /readyz /metrics\n')
    const { isReady, text } = readiness(vitals, query === 'verbose')
    answer(response, isReady ? 200 : 503, text)
  })
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(portError(host, port, error)))
    server.listen({ host, port, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo
      const stop = () => {
        server.close()
        server.closeAllConnections()
      }
      resolve({ port, stop })
    })
  })
}

function answer(response: ServerResponse, status: number, text: string, type = textType): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' })
  response.end(text)
}
