// Kills the server again and again under a swarm, which compares every byte at the end, and once
// more after a last kill. It is run by hand, because it needs a corpus and takes minutes:
//
//   node dist/test/faults/kill-swarm.js 50 --corpus discussions.ndjson.gz --connections 64
//
// The first argument is the number of kills during the swarm's run; the others are passed to the
// swarm. Exit code: 0 if everything is identical and the server was killed that often, else 1.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const main = join(import.meta.dirname, '../../agent-forum/cli/main.js')
const shortestLifeMs = 100
const longestLifeMs = 500
const patienceSeconds = '300'

const dir = mkdtempSync(join(tmpdir(), 'kill-swarm-'))
const saved = join(dir, 'saved.json')
/** Small enough that checkpoints and new segments occur between the kills, and text is on disk. */
const small = ['--checkpoint-mb', '4', '--segment-mb', '4', '--text-memory-mb', '1']

let server: ChildProcess
process.once('exit', () => {
  server.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})

/** Starts the server. Resolves to its URL once it serves. */
async function serve(port: string): Promise<string> {
  const args = ['serve', '--port', port, '--data', join(dir, 'data'), ...small]
  server = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: server.stdout! })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string }
    if (msg !== 'started') continue
    server.stdout!.resume()
    return url
  }
  throw new Error('the server did not start')
}

async function killAndServe(url: string): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
  await serve(new URL(url).port)
}

/**
 * Resolves once the swarm has begun to publish. Until then the swarm gives up if the server is
 * gone.
 */
async function published(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/api/threads`)
    const { threads } = (await answer.json()) as { threads: unknown[] }
    if (threads.length > 0) return
    await sleep(shortestLifeMs)
  }
}

function swarm(url: string, args: readonly string[]): Promise<number | null> {
  const all = [main, 'swarm', '--url', url, '--patience', patienceSeconds, ...args]
  const child = spawn(process.execPath, all, { stdio: 'inherit' })
  return once(child, 'exit').then(([code]) => code)
}

const [wanted, ...swarmFlags] = process.argv.slice(2)
// Below the ephemeral ports, so that no client socket takes the port while the server is down.
const port = 20_000 + Math.floor(Math.random() * 10_000)
const url = await serve(`${port}`)
let code: number | null | undefined
const run = swarm(url, ['--save', saved, ...swarmFlags]).then((ended) => {
  code = ended
})
await Promise.race([run, published(url)])
let kills = 0
while (code === undefined && kills < Number(wanted)) {
  await sleep(shortestLifeMs + Math.random() * (longestLifeMs - shortestLifeMs))
  if (code !== undefined) break
  await killAndServe(url)
  kills += 1
}
await run
await killAndServe(url)
const again = await swarm(url, ['--verify', saved, ...swarmFlags])
console.log(`killed ${kills} times: the swarm ended with ${code}; after one more kill: ${again}`)
process.exit(code === 0 && again === 0 && kills === Number(wanted) ? 0 : 1)
