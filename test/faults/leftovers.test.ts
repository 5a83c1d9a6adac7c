// Goal:   as long as a file with the text of a removed message cannot be deleted, no node reports
//         that the text is gone: neither the node that took the checkpoints nor one that starts
//         later. As soon as a start can delete the file, it does.
// Method: the real program, with a segment of its log made immutable (chattr +i), which needs root
//         and a file system that supports it; elsewhere the test is skipped, and says so.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { erasureOfNode } from '../../src/cli/admin-client.ts'
import { publishedThread, startForum } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { until } from '../until.ts'

t.setTimeout(timeoutMs)

const isSet = (file: string, flag: '+i' | '-i') => spawnSync('chattr', [flag, file]).status === 0

t.test('removed message: its file cannot be removed, restarts: gone when it is', async (t) => {
  const forum = await startForum(t, ['--checkpoint-mb', '0'])
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  const { message_id } = (await ana.reply(thread, 'what is removed')).body
  const admin = ['admin', 'remove-message', '--yes', message_id, '--data', forum.data, '--json']
  const removed = await run([...admin, '--no-wait'])
  t.equal(removed.code, 0, removed.stderr)
  const { position } = JSON.parse(removed.stdout).act
  // A clean stop writes its seal into the segment that the removal began. After a kill, the
  // unsynced end of the log might still begin in the first segment, which the start would have to
  // truncate.
  t.equal((await forum.stop())?.code, 0)
  const segment = join(forum.data, '0000000001.wal')
  if (!isSet(segment, '+i')) return t.comment('skipped: chattr +i is not permitted')
  t.teardown(() => isSet(segment, '-i'))
  const erasure = () => erasureOfNode(forum.data, position)
  const cannot = /could not remove files/

  forum.flags.splice(0, 2)
  await forum.start()
  await until('the checkpoints', async () => cannot.test((await erasure()).warnings.join()))
  t.match(await erasure(), { checkpoints_left: 0, is_gone: false })

  await forum.stop('SIGKILL')
  await forum.start()
  t.match(await erasure(), { checkpoints_left: 0, is_gone: false }, 'a start tries to remove it')
  await until('the start to fail', async () => cannot.test((await erasure()).warnings.join()))
  t.match(await erasure(), { checkpoints_left: 0, is_gone: false })
  t.ok(existsSync(segment))

  await forum.stop('SIGKILL')
  t.ok(isSet(segment, '-i'))
  await forum.start()
  await until('the text to be gone', async () => (await erasure()).is_gone)
  t.notOk(existsSync(segment))
  t.notMatch(forum.log, /checkpoint_taken/, 'no checkpoint was needed')
})
