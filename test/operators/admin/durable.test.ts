// What operators are shown of a node whose log is not durable yet, whose readers lag, or which may
// no longer lead.

import { mkdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import pino from 'pino'
import t, { type Test } from 'tap'
import { actsOfNode, invitesOfNode } from '../../../src/cli/admin-client.ts'
import { accessCommands } from '../../../src/forum/invitations/operators.ts'
import { moderationCommands } from '../../../src/forum/moderation/commands.ts'
import { moderate } from '../../../src/operators/admin/commands.ts'
import { OperatorPages } from '../../../src/operators/admin/pages.ts'
import { serveAdmin, startAdmin } from '../../../src/operators/admin/socket.ts'
import { dataDirectory } from '../../api/process.ts'
import { Node } from '../../edge/http/edge-node.ts'
import { until } from '../../until.ts'

const silent = pino({ level: 'silent' })

/** Begins a node with an act and an invitation that are not durable yet. */
function begin(t: Test) {
  const dir = dataDirectory(t)
  mkdirSync(dir)
  const node = new Node()
  const socket = serveAdmin(dir, () => ({}), silent)
  t.teardown(socket.stop)
  const pages = new OperatorPages(silent)
  pages.listen('http://127.0.0.1:1')
  const [readers, search, publicUrl] = [null, null, null]
  const parts = { socket, pages, readers, search, publicUrl, listener: {} }
  startAdmin(node.forum, node.gate, { ...parts, checkpoints: {} as never })
  const id = node.thread().slice('/api/threads/'.length)
  moderationCommands['lock-thread'](node.forum, { id, reason: 'not durable' })
  accessCommands.invite(node.forum, { uses: 1, days: 1, reason: 'not durable' })
  return { dir, node, pages }
}

/** Returns a function that reads a page as an operator who is signed in. */
async function signedIn(pages: OperatorPages): Promise<() => Promise<[number, string]>> {
  const answerTo = (method: string, url: string, headers: object, body = '') => {
    const request = Object.assign(Readable.from([Buffer.from(body)]), { method, url, headers })
    return pages.answer(request as unknown as IncomingMessage)
  }
  const code = new URL(pages.signInUrl()).searchParams.get('code')
  const { headers } = await answerTo('POST', '/admin/sign-in', {}, `code=${code}`)
  const [cookie] = headers['Set-Cookie']!.split(';')
  return async () => {
    const { status, body } = await answerTo('GET', '/admin', { cookie })
    return [status, body]
  }
}

t.test('operators: acts and invitations: are shown once they are durable', async (t) => {
  const { dir, node, pages } = begin(t)
  const read = await signedIn(pages)
  const shown = Promise.all([actsOfNode(dir), invitesOfNode(dir), read()])
  await until('all three to wait', () => node.gate.length === 3)
  node.sync()
  const [acts, invites, page] = await shown
  t.match([acts, invites, page], [[{ kind: 'locked' }], [{ state: 'issued' }], [200, /locked/]])
})

t.test('erasure: a reader or the index still has the text: it is not gone', async (t) => {
  const node = new Node()
  const files = { checkpoints_left: 0, is_gone: true }
  const [appliedThrough, indexedThrough] = [8, 9]
  const { erasure } = startAdmin(node.forum, node.gate, {
    ...{ socket: null, pages: null, publicUrl: null, listener: {} },
    checkpoints: { erasure: () => files } as never,
    readers: { haveApplied: (position) => position <= appliedThrough },
    search: { isGone: (position) => position <= indexedThrough },
  })
  const found = [8, 9, 10].map((position) => erasure(position).is_gone)
  t.same(found, [true, false, false])
})

t.test('operators: acts and invitations: the log fails: they are not shown', async (t) => {
  const { dir, node, pages } = begin(t)
  const read = await signedIn(pages)
  node.gate.fail()
  const failed = { exitCode: 74, message: 'the storage of the node has failed' }
  await t.rejects(actsOfNode(dir), failed)
  await t.rejects(invitesOfNode(dir), failed)
  t.match(await read(), [503, /The storage of the node has failed/])
})

t.test('moderate: another node may lead by now: no act is said to be in effect', async (t) => {
  const node = new Node()
  const id = node.thread().slice('/api/threads/'.length)
  const lock = () => moderate(node.forum, node.gate, 'lock-thread', { id, reason: '' })
  const first = lock()
  node.sync()
  t.match(await first, { isNew: true })
  t.match(await lock(), { isNew: false })
  node.gate.standing = { decidesUntilMs: performance.now(), showsUntilMs: Number.POSITIVE_INFINITY }
  t.same(await lock(), { rejected: 'no_leader' })
})
