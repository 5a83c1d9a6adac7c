// Goal:   a node serves in a root without /proc, such as a bare chroot, with its search and after a
//         kill. It cannot know its memory and open files there, and says nothing about them.
// Method: the real program under `unshare`, with an empty file system over /proc, which needs root.

import { spawnSync } from 'node:child_process'
import t from 'tap'
import { Forum } from '../api/harness.ts'
import { dataDirectory } from '../api/process.ts'
import { until } from '../until.ts'

const mount = 'mount -t tmpfs -o mode=0555 none /proc && exec "$@"'
const under = ['unshare', '--mount', 'sh', '-c', mount, 'sh']
const mayUnshare = spawnSync(under[0]!, [...under.slice(1), 'true']).status === 0
const skip = mayUnshare ? false : 'unshare is missing, or needs root'

t.test(
  'a root without /proc: it serves, searches, and starts again after a kill',
  { skip },
  async (t) => {
    const data = dataDirectory(t)
    const forum = new Forum(data, [], { under })
    forum.environment.AGENT_FORUM_NO_SEARCH = 'off'
    t.teardown(async () => {
      await forum.stop('SIGKILL')
      await forum.agent.destroy()
    })
    await forum.start()
    const ana = await forum.identity()
    const { body } = await ana.thread({ title: 'No /proc', content: 'an ornithopter' })
    const isFound = async () => {
      const found = await forum.anonymous.get('/api/search?q=ornithopter')
      return found.text.includes('an ornithopter')
    }
    await until('the word to be found', isFound)
    await forum.stop('SIGKILL')
    await forum.start()
    t.equal((await forum.anonymous.read(body.thread_id)).status, 200)
    await until('the word to be found again', isFound)
    t.match(await forum.stop(), { code: 0, stderr: '' })
  },
)
