// Instruments of requests: answers, refusals and durations, and waiting requests.

import { timedEvery } from '../../../edge/http/meter.ts'
import { by, counter, figure, gauge, histogram, quantiles } from '../instrument.ts'
import { answersOf, queueBytesOf, refusalsOf } from '../vitals.ts'

const answersHelp =
  'All answers to requests, by route and class of status. What the HTTP server itself answers to ' +
  'a malformed or too large head (400, 431, 505) is not counted, because uWebSockets.js does not ' +
  'report it.'

export const requests = [
  // uWebSockets.js has no callback for a head that it refuses: a filter hears of connections only.
  counter('http_requests_total', answersHelp, ({ meter }) =>
    meter.routes.flatMap(({ name, answers }) =>
      [2, 3, 4, 5].map((digit) => {
        return { labels: { route: name, status: `${digit}xx` }, value: answers[digit] }
      }),
    ),
  ),
  figure(
    'Answers of each route, whatever their status.',
    by('route', ({ meter }) =>
      Object.fromEntries(meter.routes.map((route) => [route.name, answersOf(route)])),
    ),
    {
      columns: [{ name: 'requests', as: 'rate' }],
    },
  ),
  figure(
    'Answers with a status of 5xx.',
    ({ meter }) => meter.routes.reduce((sum, { answers }) => sum + answers[5], 0),
    { columns: [{ name: 'failed', as: 'rate' }] },
  ),
  histogram(
    'http_request_duration_seconds',
    `From the request's head to its answer; one request in ${timedEvery} is timed.`,
    ({ meter }) =>
      meter.routes.map(({ name, times: { bounds, counts, sum } }) => {
        return { labels: { route: name }, bounds, counts, sum }
      }),
    { columns: quantiles('') },
  ),
]

/** Waiting requests, and the memory that they hold. */
export const waiting = [
  gauge(
    'waiting',
    'Polls that wait for news.',
    ({ waiting, readers }) => readers?.waiting ?? waiting.length,
    {
      limit: { of: 'waiting', read: ({ waiting }) => waiting.max },
      status: 'load.waiting',
      columns: [{ name: 'waiting' }],
    },
  ),
  counter(
    'waiting_ended_total',
    'Polls that stopped waiting, by outcome; full: the limit was reached, so they did not wait.',
    by('how', ({ waiting }) => waiting.ended),
  ),
  gauge('gate_waiting', 'Answers that wait until the log is durable.', ({ gate }) => gate.length, {
    limit: { of: 'gate', read: ({ load }) => load.limits.writesMax },
    status: 'load.gate',
    columns: [{ name: 'gate' }],
  }),
  gauge(
    'text_waiting',
    'Requests that wait for text that is on disk.',
    ({ coldReads }) => coldReads.length,
    {
      limit: { of: 'cold_reads', read: ({ coldReads }) => coldReads.limits.parkedMax },
      status: 'load.cold_reads',
    },
  ),
  gauge(
    'text_waiting_bytes',
    'Bytes of text held by requests that wait for more of it.',
    ({ coldReads }) => coldReads.bytes,
    { limit: { of: 'cold_read_bytes', read: ({ coldReads }) => coldReads.limits.bytesMax } },
  ),
  gauge(
    'sliced_reads',
    'Reads of feeds in progress that take several iterations of the event loop.',
    ({ slicedWork }) => slicedWork.length,
  ),
  gauge(
    'pages_making',
    'Pages for people that are being made or wait to be made.',
    ({ pageMaking }) => pageMaking.length,
  ),
  gauge(
    'queue_bytes',
    'Bytes of bodies being received and of answers waiting, in all processes.',
    by('what', queueBytesOf),
  ),
  figure(
    'Bytes of bodies being received and of answers waiting, together; each process has the limit.',
    (vitals) => queueBytesOf(vitals).bodies + queueBytesOf(vitals).answers,
    {
      limit: { of: 'queue_bytes', read: ({ load }) => load.limits.queueBytesMax },
      status: 'load.queue_bytes',
    },
  ),
  gauge('connections', 'Open connections.', ({ load }) => load.connections(), {
    limit: { of: 'connections', read: ({ load }) => load.limits.connectionsMax },
    status: 'load.connections',
    columns: [{ name: 'connections' }],
  }),
  counter(
    'refusals_total',
    'Requests refused and connections closed because of a limit.',
    by('why', refusalsOf),
    {
      status: 'refusals',
      columns: [{ name: 'refusals', as: 'rate' }],
    },
  ),
  counter(
    'not_let_in_total',
    'Requests with an unknown token or invitation, registrations without an invitation or where ' +
      'only operators register, and guesses over the limit.',
    by('why', ({ guesses }) => guesses.notLetIn),
  ),
]
