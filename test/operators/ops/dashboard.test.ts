// The dashboard of a node in use, as seen by a browser without scripts and by a program; and the
// Grafana dashboard, whose metrics must exist.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { groupsOf } from '../../../src/operators/ops/panels.ts'
import { metrics } from '../../../src/operators/ops/status.ts'
import type { Status } from '../../../src/people/browser/dashboard/status.ts'
import { startForum } from '../../api/harness.ts'
import { ask } from '../../api/operators.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { noDelays, vitalsOfAll } from './vitals.ts'

const policy =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; " +
  "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Sends bytes to the port, and resolves to everything that it answers. */
function exchange(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.end(request))
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    socket.on('end', () => resolve(answer)).on('error', reject)
  })
}

async function statusAt(port: number, query = ''): Promise<Status> {
  return JSON.parse((await ask(port, `/status.json${query}`)).text)
}

t.test('operator: a node in use: its dashboard and what it is made from', async (t) => {
  const port = await freePort()
  const forum = await startForum(t, [
    '--ops-port',
    `${port}`,
    '--public-url',
    'https://f.example',
    '--retention-days',
    '30',
  ])
  const ana = await forum.identity({ display_name: 'name-on-no-dashboard' })
  const { body } = await ana.thread({ title: 'title-on-no-dashboard' })
  for (let i = 0; i < 40; i++) await ana.reply(body.thread_id)
  await ana.get('/api/threads/wrong')
  await until('a sample of the replies', async () => {
    const { columns } = (await statusAt(port)).series
    return columns['requests:reply']?.some((value) => value! > 0)
  })

  await t.test('page: without scripts: has the numbers, and loads nothing foreign', async (t) => {
    const response = await fetch(`http://127.0.0.1:${port}/`)
    t.equal(response.status, 200)
    for (const [name, value] of Object.entries({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'access-control-allow-origin': null,
    })) {
      t.equal(response.headers.get(name), value, name)
    }
    const page = await response.text()
    for (const { title, panels } of groupsOf(await statusAt(port))) {
      t.match(page, `-title">${title}</h2>`)
      for (const { id, title } of panels) t.match(page, `<h3 id="${id}-panel">${title}</h3>`)
    }
    t.match(page, '<tr><th scope="row">Durable position</th><td>42</td></tr>')
    t.match(page, '<tr><th scope="row">reply</th>')
    t.match(page, 'data-state="serving">Serving</p>')
    t.match(page, 'durability always, retention 30 days,')
    t.match(page, '<a href="https://f.example">Forum</a>')
    t.notMatch(page, /on-no-dashboard|(?:thr|agt|msg)_/)
    t.notMatch(page, /\bstyle=|\bon\w+=|<script>|<style/)
    t.notMatch(page, /(?:src|href)="(?!\/|https:\/\/f\.example">)/)
  })

  await t.test('files: those that the page and its scripts name: there, with types', async (t) => {
    const { text } = await ask(port, '/')
    const found = [...text.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|svg))"/g)].map(([, p]) => p!)
    t.ok(found.length >= 5)
    const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }
    for (const path of found) {
      const { status, type, text } = await ask(port, path)
      t.equal(status, 200, path)
      t.match(type, types[path.split('.').at(-1) as 'js'], path)
      t.notMatch(text, 'sourceMappingURL', path)
      if (path === '/uplot.js') continue
      for (const [, name] of text.matchAll(/(?:from |^import )'(\.[^']+)'/gm)) {
        const imported = new URL(name!, `http://x${path}`).pathname
        if (!found.includes(imported)) found.push(imported)
      }
    }
    t.ok(found.includes('/while-visible.js'), `${found}`)
  })

  await t.test('status.json: of a node in use: its numbers, and no caller’s words', async (t) => {
    const { status, type, text } = await ask(port, '/status.json')
    t.strictSame([status, type], [200, 'application/json; charset=utf-8'])
    t.notMatch(text, /on-no-dashboard|(?:thr|agt|msg)_/)
    const found: Status = JSON.parse(text)
    t.match(found, {
      format: 1,
      node: {
        version: '1.0.0',
        node_version: process.version,
        durability: 'always',
        retention_days: 30,
      },
      ready: { state: 'serving', text: 'ok', warnings: [] },
      log: { position: 42, durable_position: 42, health: 'ok' },
      content: { identities: 1, threads: 1, messages: 41 },
      checkpoints: { taken: 0, position: 0, age_seconds: null, records_behind: 42 },
      replication: null,
    })
    t.match(found.routes[0], { route: 'reply', answers: 40, refused: 0, failed: 0 })
    t.match(
      found.routes.find(({ route }) => route === 'readThread'),
      { answers: 1, refused: 1 },
    )
    const { first, last, at, columns } = found.series
    t.equal(last - first + 1, at.length)
    for (const [name, values] of Object.entries(columns)) t.equal(values.length, at.length, name)
    t.strictSame((await statusAt(port, `?after=${last}`)).series.first, last + 1)
    for (const wrong of ['x', '-1', '1.5', '']) {
      t.equal((await ask(port, `/status.json?after=${wrong}`)).status, 400, wrong)
    }
  })

  await t.test('requests: heads, other methods, other paths, other hosts', async (t) => {
    for (const path of ['/', '/status.json', '/style.css', '/pages.css', '/metrics', '/livez']) {
      const head = await exchange(port, `HEAD ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      t.match(
        head,
        /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: [1-9]\d*\r\n[\s\S]*\r\n\r\n$/,
        path,
      )
      t.equal((await ask(port, path, 'POST')).status, 405, path)
    }
    for (const path of ['/x', '//', '/dashboard/', '/dashboard/../main.js', '/%2e%2e/', '/?']) {
      const line = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
      t.match(
        await exchange(port, line),
        path === '/?' ? /^HTTP\/1\.1 200/ : /^HTTP\/1\.1 404/,
        path,
      )
    }
    for (const [host, status] of [
      ['localhost:1', 200],
      ['f.example', 200],
      ['evil.example', 421],
    ] as const) {
      for (const path of ['/', '/status.json', '/metrics', '/readyz?verbose', '/livez']) {
        const line = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
        t.match(await exchange(port, line), `HTTP/1.1 ${status} `, `${host} ${path}`)
      }
    }
  })

  await t.test('Grafana: its dashboard: only metrics that the node has', async (t) => {
    const { text } = await ask(port, '/metrics')
    const all = text + metrics(vitalsOfAll(), noDelays)
    const known = new Set([...all.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!))
    const file = join(import.meta.dirname, '../../../../deploy/grafana-dashboard.json')
    const { panels, templating } = JSON.parse(readFileSync(file, 'utf8'))
    t.equal(templating.list[0].type, 'datasource')
    const targets = panels.flatMap((panel: { targets?: unknown[] }) => panel.targets ?? [])
    t.ok(targets.length >= 15)
    for (const { expr } of targets) {
      const named = expr.match(/\b(?:agent_forum|process|nodejs)_\w+/g) ?? []
      t.ok(named.length > 0, expr)
      for (const name of named) {
        t.ok(known.has(name.replace(/_bucket$/, '')) || known.has(name), `${name} in ${expr}`)
      }
    }
    const chosen = { type: 'prometheus', uid: `$\{datasource}` } // the variable of that name
    for (const { title, datasource } of [...panels, ...targets]) {
      t.strictSame(datasource, chosen, title)
    }
  })
})
