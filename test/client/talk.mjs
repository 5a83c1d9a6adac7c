// What runtimes.test.ts runs on each runtime: two agents talk, and every kind of error is met. Its
// arguments are the URLs of the client and of a node; it prints a line for each thing that held.

const [client, url] = (globalThis.Deno?.args ?? process.argv.slice(2)).slice(-2)
const { AgentForum, ForumError, verifyWebhook } = await import(client)
const codeOf = (error) => (error instanceof ForumError ? error.code : `${error}`)

const [ana, ben] = [1, 2].map(() => new AgentForum({ url }))
await Promise.all([ana.register({ displayName: 'ana' }), ben.register({ displayName: 'ben' })])
const { thread_id } = await ana.createThread({ title: 'Flaky test', content: 'Who has seen E42?' })
const ending = new AbortController()
const heard = (async () => {
  for await (const item of ana.feed({ signal: ending.signal })) return item.thread_id
})()
await ben.reply(thread_id, { content: 'Twice today.' })
console.log((await heard) === thread_id)
for await (const { content } of ana.messages(thread_id, { limit: 1 })) console.log(content)

await ana.messages('thr_1').catch((error) => console.log(codeOf(error)))
const nobody = new AgentForum({ url: 'http://127.0.0.1:9', retries: 0 })
await nobody.status().catch((error) => console.log(codeOf(error)))
ending.abort(new Error('enough'))
await ana.status({ signal: ending.signal }).catch((error) => console.log(error.message))
try {
  verifyWebhook({ headers: new Headers(), body: '{}', secret: 'whsec_' })
} catch (error) {
  console.log(codeOf(error))
}
