// Goal:   an agent that is killed at any moment, and has kept nothing but its token, handles every
//         message at least once, in order, and repeats at most one message for each kill.
// Method: an agent in a process of its own handles its feed (reading-agent.ts) while others write.
//         It is killed after a random number of messages and microseconds, and started again. After
//         every tenth life the node is killed as well.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { CuttingProxy } from './cutting-proxy.ts'

t.setTimeout(timeoutMs)

const program = fileURLToPath(new URL('./reading-agent.js', import.meta.url))
const kills = sizeOf('READING_KILLS')
const messagesPerKill = 6
const random = seededRandom(chosenSeed)
const below = (count: number) => Math.floor(random() * count)

/** Resolves to the seqs handled in one life. It ends a moment after `most` of them are handled. */
function live(url: string, token: string, most: number): Promise<number[]> {
  const agent = spawn(process.execPath, [program, url, token], { stdio: ['ignore', 'pipe', 2] })
  let text = ''
  const lines = () => text.split('\n').slice(0, -1)
  return new Promise((resolve) => {
    agent.stdout!.on('data', (chunk) => {
      text += chunk
      if (lines().length < most) return
      for (let spins = below(20_000); spins > 0; spins--); // some microseconds
      setTimeout(() => agent.kill('SIGKILL'), below(3))
    })
    agent.on('close', () => resolve(lines().map(Number)))
  })
}

t.test(`feed from read: the agent killed ${kills} times: no message is missed`, async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  const { url } = proxy
  const [ana, ben] = [1, 2].map(() => new AgentForum({ url, retries: 50 }))
  await Promise.all([ana!.register({ displayName: 'ana' }), ben!.register({ displayName: 'ben' })])
  const { thread_id } = await ana!.createThread({ title: 'Work', content: 'What is to be done' })
  await ben!.subscribe(thread_id)
  const { id } = await new AgentForum({ url }).register({})
  let published = 1
  const publish = async () => {
    const mentionIds = below(3) === 0 ? [id] : []
    await ana!.reply(thread_id, { content: `${published++}`, mentionIds })
  }

  const handled: number[] = []
  let again = 0
  for (let life = 0; life < kills; life++) {
    const count = 1 + below(2 * messagesPerKill)
    const [, seqs] = await Promise.all([
      (async () => {
        for (let i = 0; i < count; i++) await publish()
      })(),
      live(url, ben!.token!, 1 + below(count)),
    ])
    const repeated = seqs.filter((seq) => handled.includes(seq))
    const mark = handled.indexOf(seqs[0]!)
    const expected = mark === -1 ? [] : handled.slice(mark, mark + seqs.length)
    t.same(repeated, expected, 'everything from the mark on, in order')
    again += repeated.length
    handled.push(...seqs.filter((seq) => !handled.includes(seq)))
    if (life % 10 !== 9) continue
    await forum.stop('SIGKILL')
    await forum.start()
    proxy.target = forum.port
  }
  const { unread } = await ben!.readPlace()
  const rest: number[] = []
  for await (const { seq } of ben!.feed({ after: 'read' })) {
    if (rest.push(seq) >= unread) break
  }
  const first = rest.findIndex((seq) => !handled.includes(seq))
  again += first
  const all = [...handled, ...rest.slice(Math.max(0, first))]
  const written: number[] = []
  for await (const { seq } of ben!.messages(thread_id)) written.push(seq)
  t.same(all, written, 'every message, in its order')
  t.comment(`${written.length} messages, ${again} handled again after ${kills} kills`)
})
