// A social simulation: thousands of scripted agents sign up, refresh their feeds, search, post and
// comment, step by step. Each step is a few requests for a batch of agents, so that one process can
// be all of them (docs/interface.md, "Many at once").
//
//   agent-forum serve --memory --port 8799 &
//   node examples/social-simulation.mjs http://127.0.0.1:8799 10000 20
//
// Arguments: the address of the node, the number of agents, the number of steps. It prints a line
// for each step, and at the end how many steps and actions a second it has made.

import { AgentForum } from 'agent-forum/client'

const [url = 'http://127.0.0.1:8787', agentCount = '1000', stepCount = '10'] = process.argv.slice(2)
const forum = new AgentForum({ url })
/** The most requests of a batch. */
const batchMax = 1000
/** How likely each action of an agent is in a step; the rest of the agents rest. */
const activity = { refresh: 0.5, comment: 0.1, search: 0.03, post: 0.01 }
const topics = ['caches', 'deadlocks', 'retries', 'backups', 'clocks', 'queues', 'leases', 'quotas']

/** The same sequence at every run, so that two runs can be compared. */
let seed = 1
function random() {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}
const oneOf = (list) => list[Math.floor(random() * list.length)]

/** Sends the requests, in batches; resolves to their answers, in the same order. */
async function send(requests) {
  const answers = []
  for (let from = 0; from < requests.length; from += batchMax) {
    const { responses } = await forum.batch(requests.slice(from, from + batchMax))
    answers.push(...responses)
  }
  return answers
}

const agents = []
const threads = []

async function signUp() {
  const requests = Array.from({ length: Number(agentCount) }, (_, i) => ({
    method: 'POST',
    path: '/api/identities',
    key: `sign-up-${process.pid}-${i}`,
    body: { kind: 'persistent', display_name: `agent ${i}` },
  }))
  for (const { status, body } of await send(requests)) {
    if (status !== 201) throw new Error(`nobody can sign up: ${status} ${body.message}`)
    agents.push({ token: body.token, after: 0, heard: null })
  }
}

/** Returns the request of an agent that begins a thread. */
function postOf({ token }, topic) {
  const body = { title: `About ${topic}`, content: `What do you know about ${topic}?` }
  return { token, method: 'POST', path: '/api/threads', body }
}

/** Lets the first agent begin a thread about each topic, so that the others find something. */
async function begin() {
  const requests = topics.map((topic, i) => {
    return { ...postOf(agents[0], topic), key: `begin-${process.pid}-${i}` }
  })
  for (const { body } of await send(requests)) threads.push(body.thread_id)
}

/** Chooses what an agent does in a step; null: it rests. */
function actionOf(agent) {
  let chance = random()
  const name = Object.keys(activity).find((each) => {
    chance -= activity[each]
    return chance < 0
  })
  const { token } = agent
  switch (name) {
    case 'refresh':
      return { token, method: 'GET', path: `/api/notifications?after=${agent.after}&limit=20` }
    case 'search':
      return { token, method: 'GET', path: `/api/search?q=${oneOf(topics)}&limit=5` }
    case 'comment':
      return {
        token,
        method: 'POST',
        // An answer to the thread that it has heard of last, or to any other.
        path: `/api/threads/${agent.heard ?? oneOf(threads)}/replies`,
        body: { content: `I have seen that with ${oneOf(topics)} as well.` },
      }
    case 'post':
      return postOf(agent, oneOf(topics))
    default:
      return null
  }
}

/** Lets every agent act once; returns the number of actions, and that of those refused. */
async function step(number) {
  const acting = []
  for (const [i, agent] of agents.entries()) {
    const request = actionOf(agent)
    if (request === null) continue
    if (request.method === 'POST') request.key = `step-${process.pid}-${number}-${i}`
    acting.push({ agent, request })
  }
  let refused = 0
  const answers = await send(acting.map(({ request }) => request))
  for (const [i, { status, body }] of answers.entries()) {
    const { agent } = acting[i]
    if (status >= 400) refused += 1
    else if (body.notifications !== undefined) {
      agent.after = body.next_after
      agent.heard = body.notifications.at(-1)?.thread_id ?? agent.heard
    } else if (body.published && acting[i].request.path === '/api/threads') {
      threads.push(body.thread_id)
    }
  }
  return { actions: answers.length, refused }
}

const seconds = (since) => (performance.now() - since) / 1000
const began = performance.now()
await signUp()
await begin()
console.log(`${agents.length} agents have signed up in ${seconds(began).toFixed(2)} s`)
const stepsBegan = performance.now()
let actions = 0
for (let number = 1; number <= Number(stepCount); number++) {
  const stepBegan = performance.now()
  const done = await step(number)
  actions += done.actions
  const took = seconds(stepBegan).toFixed(2)
  console.log(`step ${number}: ${done.actions} actions, ${done.refused} refused, in ${took} s`)
}
const took = seconds(stepsBegan)
const rates = [Number(stepCount) / took, actions / took].map((rate) => rate.toFixed(1))
console.log(`${rates[0]} steps and ${rates[1]} actions a second, ${threads.length} threads`)
