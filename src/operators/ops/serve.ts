// The operators' port, on the loopback interface unless --ops-host says otherwise: /livez, /readyz,
// /metrics, and the dashboard at /, which reads /status.json.
//
// O1. The port answers from the beginning of a start, also during replay and while the node drains.
// O2. /livez says that the event loop runs. /readyz says whether requests are answered; a full disk
//     does not change that, because reads are still answered. Both give reasons on the loopback
//     interface only; elsewhere they say nothing but the status.
// O3. The port has no accounts: anybody who can reach it may read, but only an operator who is
//     signed in may act (operators/admin/pages.ts). Pages of other origins can do neither, whatever
//     name they use for this address (edge/http/host-check.ts), and nothing here can be framed or
//     embedded.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { originOf } from '../../edge/http/cross-site.ts'
import type { Listener } from '../../edge/http/exchange.ts'
import { isAddress, isLoopback, isOwnHost } from '../../edge/http/host-check.ts'
import { portError } from '../../edge/http/port-error.ts'
import { ownScripts, policyOf } from '../../people/html/document.ts'
import { withCommit } from './commit.ts'
import { DiskSpace } from './disk-space.ts'
import { dashboardFiles, type File } from './files.ts'
import { LoopDelay } from './instrument.ts'
import { dashboardPage } from './page.ts'
import { readiness } from './readiness.ts'
import { Samples } from './samples.ts'
import { metrics, statusOf } from './status.ts'
import type { Vitals } from './vitals.ts'

const sampleEveryMs = 1_000
const connectionsMax = 128
/** The time within which a request must arrive. */
const requestMs = 10_000
const textType = 'text/plain; charset=utf-8'
const pageType = 'text/html; charset=utf-8'
const metricsType = 'text/plain; version=0.0.4; charset=utf-8'
const paths = '/ /admin /livez /readyz /metrics /status.json\n'
const wrongHost =
  'This port answers to localhost, to loopback addresses and to the hosts of --public-url and ' +
  '--allowed-hosts; the Host of this request is another one.\n'

const headers = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': policyOf(ownScripts, "'none'"),
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

interface Outcome extends File {
  status: number
  /** Headers in addition to those of all answers, or in place of them. */
  headers?: Record<string, string>
}

/** The pages below /admin (operators/admin/pages.ts). */
export interface Pages {
  listen(origin: string): void
  /** Never rejects. */
  answer(request: IncomingMessage): Promise<Outcome>
}

interface Reached {
  opsHost: string
  opsPort: number
  data: string
  publicUrl: string | null
  allowedHosts: ReadonlySet<string> | null
}

/**
 * Serves until `stop` is called. Rejects with a sentence when it cannot listen on the port.
 */
export async function serveOperators(
  { opsHost: host, opsPort: port, data, publicUrl, allowedHosts }: Reached,
  vitals: Vitals,
  pages: Pages,
): Promise<Listener> {
  const loopDelay = new LoopDelay()
  const samples = new Samples(vitals, loopDelay, performance.now())
  const answers = answersOf(vitals, samples)
  const names = new Set([host.toLowerCase(), ...(allowedHosts ?? [])])
  if (publicUrl !== null) names.add(new URL(publicUrl).hostname)
  const isLocal = isLoopback(host)
  // An address as the Host is that of the machine, unless a name for it was resolved by a browser.
  const isOwn = (name: string | undefined) =>
    isOwnHost(name, names) || (!isLocal && isAddress(name!))
  const server = createServer((request, response) => {
    const outcome = isOwn(request.headers.host) ? outcomeOf(request, answers) : text(421, wrongHost)
    if (outcome !== null) return answer(response, outcome)
    void pages.answer(request).then((page) => answer(response, page))
  })
  server.maxConnections = connectionsMax
  server.requestTimeout = requestMs
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portError(host, port, error)))
    server.listen({ host, port, exclusive: true }, resolve)
  })
  const { port: opened } = server.address() as AddressInfo
  pages.listen(originOf(host, opened))
  const sampling = setInterval(() => samples.take(performance.now()), sampleEveryMs).unref()
  const disk = new DiskSpace()
  vitals.disk = disk
  const endWatch = disk.watch(data, () => performance.now())
  const stop = () => {
    clearInterval(sampling)
    endWatch()
    loopDelay.stop()
    server.close()
    server.closeAllConnections()
  }
  return { port: opened, stop }
}

/** `isLocal`: the request came over the loopback interface. */
type Answers = ReadonlyMap<string, (query: string, isLocal: boolean) => Outcome>

function answersOf(vitals: Vitals, samples: Samples): Answers {
  const statusAfter = (after: number) => statusOf(vitals, samples, after, performance.now())
  const files = [...dashboardFiles()].map(([path, file]): [string, () => Outcome] => {
    return [path, () => ({ status: 200, ...file })]
  })
  return new Map<string, (query: string, isLocal: boolean) => Outcome>([
    ['/livez', () => text(200, 'ok\n')],
    [
      '/readyz',
      (query, isLocal) => {
        const isVerbose = query === 'verbose'
        const { isReady, text: body } = readiness(vitals, isVerbose)
        if (!isLocal) return text(isReady ? 200 : 503, isReady ? 'ok\n' : 'not ready\n') // O2
        const build = isVerbose ? `[+] version: ${withCommit(vitals.version)}\n` : ''
        return text(isReady ? 200 : 503, build + body)
      },
    ],
    [
      '/metrics',
      () => {
        return { status: 200, type: metricsType, body: metrics(vitals, samples.loopDelay.recent) }
      },
    ],
    [
      '/status.json',
      (query) => {
        const after = new URLSearchParams(query).get('after') ?? '0'
        if (!/^\d{1,15}$/.test(after)) return text(400, 'after is the number of a sample\n')
        const body = `${JSON.stringify(statusAfter(Number(after)))}\n`
        return { status: 200, type: 'application/json; charset=utf-8', body }
      },
    ],
    ['/', () => ({ status: 200, type: pageType, body: dashboardPage(statusAfter(samples.last)) })],
    ...files,
  ])
}

/** Returns the answer, or null if the pages below /admin give it. */
function outcomeOf({ method, url, socket }: IncomingMessage, answers: Answers): Outcome | null {
  const [path, query = ''] = url!.split('?', 2)
  if (path === '/admin' || path!.startsWith('/admin/')) return null
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'GET only\n')
  return answers.get(path!)?.(query, isLoopback(socket.localAddress ?? '')) ?? text(404, paths)
}

function text(status: number, body: string): Outcome {
  return { status, type: textType, body }
}

function answer(response: ServerResponse, { status, type, body, headers: own }: Outcome): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'Content-Type': type, 'Content-Length': length, ...own })
  response.end(body)
}
