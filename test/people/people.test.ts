// People take part: everything that a person does through forms, at a single node, at a reader and
// at a follower. The effect is compared with what the interface shows.

import t, { type Test } from 'tap'
import { blockIdentity, lockThread } from '../../src/forum/moderation/commands.ts'
import { hostileTexts } from './hostile.ts'
import { draftOn, formOn, problemOn, type Shown, textsOn } from './person.ts'
import { type Process, processes, Scene } from './scene.ts'

const threadIn = (path: string) => /thr_[0-9a-f]{32}/.exec(path)![0]

for (const process of processes) {
  t.test(`${process}: starts threads, replies, follows, mentions`, async (t) => {
    const scene = new Scene(process)
    const agent = await scene.identity('Übersetzer')
    await scene.thread(agent.token, { title: 'of the agent' })
    const ana = await scene.identity('Ana')
    const person = await scene.signedIn(ana.token)

    const draft = { title: 'Hello <b>', content: 'line one\nline two', name: 'übers' }
    const searched = await person.fill(await person.open('/new'), '/new', { ...draft, do: 'find' })
    t.equal(searched.status, 200)
    t.match(draftOn(searched, '/new', 'title'), { problem: '', ...draft })
    t.match(searched.text, agent.id)
    t.equal((await person.fill(searched, '/new', { visibility: 'other' })).status, 400)
    const sent = await person.fill(searched, '/new', { title: draft.title, to: agent.id })
    t.equal(sent.status, 303)
    const id = threadIn(sent.location)
    const { thread, messages } = await scene.call('get', `/api/threads/${id}`)
    t.match(thread, { title: 'Hello <b>', visibility: 'public', author_id: ana.id })
    t.match(messages, [{ content: 'line one\nline two', mention_ids: [agent.id] }])
    await scene.call('post', `/api/threads/${id}/replies`, agent.token, { content: 'hello you' })

    const page = await person.open(sent.location)
    const follow = 'Stop following this thread'
    t.same(textsOn(page, 'button'), ['Sign out', follow, 'Preview', 'Find', 'Publish reply'])
    t.match(page.text, /<input type="checkbox" name="to" value="agt_/)
    const answer = { content: 'and to you', to: agent.id, do: 'reply' }
    const replied = await person.fill(page, `/t/${id}`, answer)
    t.match(replied.location, new RegExp(`^/t/${id}#m\\d+$`))
    const after = await scene.call('get', `/api/threads/${id}`)
    t.match(after.messages[2], {
      content: 'and to you',
      author_id: ana.id,
      mention_ids: [agent.id],
    })
    t.match((await person.open(replied.location)).text, /and to you/)

    const left = await person.fill(await person.open(`/t/${id}`), `/t/${id}`, { do: 'unfollow' })
    t.match(left, { status: 303, location: `/t/${id}` })
    const unfollowed = await person.open(`/t/${id}`)
    t.ok(textsOn(unfollowed, 'button').includes('Follow this thread'))
    await person.fill(unfollowed, `/t/${id}`, { do: 'follow' })
    t.ok(textsOn(await person.open(`/t/${id}`), 'button').includes('Stop following this thread'))
  })

  t.test(`${process}: gives a thread tags, and messages a type`, async (t) => {
    const scene = new Scene(process)
    const ana = await scene.identity('Ana')
    const person = await scene.signedIn(ana.token)
    const draft = { title: 'T', content: 'C', tags: 'infra, a:b infra', type: 'question' }
    t.match((await person.open('/new')).text, /name="tags".*name="visibility".*"publish"/s)
    for (const [name, value] of [
      ['tags', 'Infra'],
      ['tags', '1 2 3 4 5 6 7 8 9'],
      ['type', 'A b'],
    ] as const) {
      const wrong = await person.fill(await person.open('/new'), '/new', {
        ...draft,
        [name]: value,
      })
      t.equal(wrong.status, 400, value)
      const shown = draftOn(wrong, '/new', 'title')
      t.match(shown, { ...draft, [name]: value, problem: name === 'type' ? /type/ : /tag/i })
    }
    const sent = await person.fill(await person.open('/new'), '/new', draft)
    const id = threadIn(sent.location)
    const page = await person.open(sent.location)
    t.match(page.text, '<a class="pill" href="/?tag=a%3Ab">a:b</a>')
    await person.fill(page, `/t/${id}`, { content: 'R', type: 'answer', do: 'reply' })
    const { thread, messages } = await scene.call('get', `/api/threads/${id}`)
    t.strictSame(thread.tags, ['infra', 'a:b'])
    t.match(messages, [{ type: 'question' }, { type: 'answer' }])
  })

  t.test(`${process}: reads private threads, and the feed, and marks it`, async (t) => {
    const scene = new Scene(process)
    const [ana, agent, other] = [
      await scene.identity('Ana'),
      await scene.identity('Agent'),
      await scene.identity('Other'),
    ]
    const { thread_id } = await scene.thread(agent.token, {
      title: 'between us',
      visibility: 'private',
      participant_ids: [ana.id],
    })
    const person = await scene.signedIn(ana.token)
    const stranger = await scene.signedIn(other.token)
    t.match(textsOn(await person.open('/'), 'h1'), ['Threads'])
    t.match((await person.open('/')).text, /between us.*· private/s)
    t.notMatch((await stranger.open('/')).text, /between us/)
    t.match(await person.open(`/t/${thread_id}`), { status: 200, text: /between us/ })
    for (const visitor of [stranger, scene.person()]) {
      const absent = await visitor.open(`/t/thr_${'0'.repeat(32)}`)
      const hidden = await visitor.open(`/t/${thread_id}`)
      t.equal(hidden.status, 404)
      t.equal(hidden.text, absent.text, 'private and absent look the same')
    }
    t.match((await stranger.open('/feed')).text, /You follow no thread yet/)
    const path = `/api/threads/${thread_id}/replies`
    await scene.call('post', path, agent.token, { content: 'for you', mention_ids: [ana.id] })
    await scene.call('post', path, agent.token, { content: 'one more' })
    await scene.call('post', `/api/threads/${thread_id}/subscribe`, ana.token)
    t.match((await person.open('/')).text, 'aria-label="Unread"')
    const unread = await person.open('/feed')
    t.match(textsOn(unread, 'article').length, 3)
    t.match(unread.text, /for you/)
    t.equal(unread.text.match(/mentions you/g)!.length, 1)
    t.match(textsOn(unread, 'h2'), ['Threads you follow'])
    const mention = await person.open('/feed?only=mentions')
    t.same([textsOn(mention, 'article').length, /<button>Mark/.test(mention.text)], [1, false])
    const marked = await person.fill(unread, '/feed', {})
    t.match(marked, { status: 303, location: '/feed' })
    t.match((await person.open('/feed')).text, /You have read everything/)
    const listed = await person.open('/')
    t.match(listed.text, / · private · followed/)
    t.notMatch(listed.text, 'aria-label="Unread"')
    const place = await scene.call('get', '/api/notifications/read', ana.token)
    t.match(place, { unread: 0 })
    t.equal(textsOn(await person.open('/feed?after=0'), 'article').length, 3)
    t.equal(textsOn(await person.open('/feed?only=mentions&after=0'), 'article').length, 1)
    t.match(await scene.person().open('/feed'), { status: 401, text: /<h1>Sign in<\/h1>/ })
  })

  t.test(`${process}: replies in a long thread: is led to its last page`, async (t) => {
    const scene = new Scene(process)
    const [ana, agent] = [await scene.identity('Ana'), await scene.identity('Agent')]
    const { thread_id } = await scene.thread(agent.token)
    const path = `/api/threads/${thread_id}/replies`
    for (let i = 0; i < 59; i++) await scene.call('post', path, agent.token, { content: `n${i}` })
    const person = await scene.signedIn(ana.token)
    const page = await person.open(`/t/${thread_id}`)
    const sent = await person.fill(page, `/t/${thread_id}`, { content: 'mine', do: 'reply' })
    const last = await person.open(sent.location)
    const articles = last.elements.filter(({ name }) => name === 'article')
    t.equal(articles.length, 50)
    t.match(articles.at(-1)!.text, /mine/)
    t.equal(`#${articles.at(-1)!.attributes.id}`, /#.*/.exec(sent.location)![0])
    t.match(last.text, /12 to 61 of 61/)
  })

  t.test(`${process}: a private thread: names those who take part, to them`, async (t) => {
    const scene = new Scene(process)
    const [ana, dan] = [await scene.identity('Ana'), await scene.identity('dan')]
    const eve = await scene.identity('<b>e\u202eve')
    await scene.thread(dan.token) // gives the author a page, and thus a link
    const between = async (token: string, participant_ids: string[]) => {
      const fields = { visibility: 'private', participant_ids, title: 'between us' }
      return (await scene.thread(token, fields)).thread_id
    }
    const notesOn = ({ elements }: Shown) => {
      const notes = elements.filter(({ attributes }) => attributes.class === 'private')
      return notes.map(({ text }) => text)
    }
    const person = await scene.signedIn(ana.token)
    const id = await between(dan.token, [ana.id, eve.id])
    const shown = await person.open(`/t/${id}`)
    const names = 'Private: you, dan and <b>e[U+202E]ve'
    t.same(notesOn(shown), [names, names])
    t.match(shown.text, new RegExp(`Private: you, <a href="/agents/${dan.id}">`))
    const own = await person.open(`/t/${await between(ana.token, [])}`)
    t.same(notesOn(own), ['Private: only you', 'Private: only you'])
    const two = await person.open(`/t/${await between(ana.token, [dan.id])}`)
    t.same(notesOn(two), ['Private: you and dan', 'Private: you and dan'])

    const refused = await person.fill(shown, `/t/${id}`, { content: ' ', do: 'reply' })
    t.same(notesOn(refused), [names])
    t.same(textsOn(refused, 'h1'), ['Reply'])
    t.same(textsOn(refused, 'h2'), [])
    t.match(refused.text, new RegExp(`In <a href="/t/${id}"><bdi>between us</bdi></a>`))
    t.match(refused.text, /Markdown is formatted. At most 8000 characters/)
    const before = person.cookie
    await person.fill(shown, '/sign-out', {})
    person.cookie = before
    const ended = await person.fill(shown, `/t/${id}`, { content: 'late', do: 'reply' })
    t.match(ended, { status: 401, text: /<bdi>between us<\/bdi>/ })
    t.same(notesOn(ended), [], 'whoever has no session learns no name')
    const visitor = scene.person()
    t.same(notesOn(await visitor.open(`/t/${id}`)), [])
  })

  t.test(`${process}: follows an old thread: its feed begins there`, async (t) => {
    const scene = new Scene(process)
    const [ana, agent] = [await scene.identity('Ana'), await scene.identity('Agent')]
    const { thread_id } = await scene.thread(agent.token)
    const path = `/api/threads/${thread_id}/replies`
    const reply = (content: string, mention_ids: string[] = []) =>
      scene.call('post', path, agent.token, { content, mention_ids })
    for (let i = 0; i < 54; i++) await reply(`old ${i}`)
    await reply('for you', [ana.id])
    const person = await scene.signedIn(ana.token)
    const shown = async (path: string) => {
      const page = await person.open(path)
      const articles = textsOn(page, 'article').map((text) => text.split('\n').at(-2)!)
      const pages = page.elements.filter(({ attributes }) => attributes.href?.includes('after='))
      const links = pages.filter(({ text }) => !text.startsWith('#'))
      return { articles, links: links.map(({ text }) => text), page }
    }
    t.same((await shown('/feed')).articles.length, 1, 'a mention, before any thread is followed')
    await person.fill(await person.open(`/t/${thread_id}`), `/t/${thread_id}`, { do: 'follow' })
    const begun = await shown('/feed')
    t.same(begun.articles.length, 1, 'still the mention, and nothing else that is old')
    t.match(begun.page.text, /for you/)
    t.match(begun.page.text, /what was there before is left out/)
    t.same(begun.links, ['From the beginning'])
    const all = await shown('/feed?after=0')
    t.same([all.articles.length, all.links], [50, ['Later']])
    t.notMatch(all.page.text, /left out/)
    const { href } = all.page.elements.find(
      ({ text, name }) => name === 'a' && text === 'Later',
    )!.attributes
    t.equal((await shown(href!)).articles.length, 6)
    const seen = await scene.call('get', '/api/notifications', ana.token, {}, 'limit=100')
    t.equal(seen.notifications.length, 56, 'programs are told of everything')

    for (let i = 0; i < 52; i++) await reply(`new ${i}`)
    const first = await shown('/feed')
    t.same([first.articles.length, first.links], [50, ['Later', 'From the beginning']])
    const later = first.page.elements.find(({ text, name }) => name === 'a' && text === 'Later')!
    t.equal((await shown(later.attributes.href!)).articles.length, 3)
    await person.fill(first.page, '/feed', {})
    const marked = await shown('/feed')
    t.equal(marked.articles.length, 3)
    t.notMatch(marked.page.text, /left out/)

    // So few messages are newer that each of them is examined, instead of the threads.
    const eve = await scene.identity('Eve')
    const other = await scene.signedIn(eve.token)
    const follow = async (id: string) =>
      other.fill(await other.open(`/t/${id}`), `/t/${id}`, { do: 'follow' })
    for (let i = 0; i < 8; i++) await follow((await scene.thread(agent.token)).thread_id)
    await reply('before')
    const api = `/api/threads/${thread_id}`
    const { seq } = (await scene.call('get', api, '', {}, 'before=end&limit=1')).messages[0]
    await reply('old')
    await follow(thread_id)
    const few = await other.open(`/feed?since=followed&after=${seq}`)
    t.equal(textsOn(few, 'article').length, 0)
    t.equal(textsOn(await other.open(`/feed?after=${seq}`), 'article').length, 1)
  })

  t.test(`${process}: a form sent twice publishes once; another text needs another`, async (t) => {
    const scene = new Scene(process)
    const ana = await scene.identity('Ana')
    const person = await scene.signedIn(ana.token)
    const fields = formOn(await person.open('/new'), '/new', 'title')
    const filled = [...fields, ['title', 'once'], ['content', 'only']] as [string, string][]
    const first = await person.send(
      '/new',
      filled.filter(([, value]) => value !== ''),
    )
    const second = await person.send(
      '/new',
      filled.filter(([, value]) => value !== ''),
    )
    t.equal(first.status, 303)
    t.equal(second.location, first.location)
    const changed = filled.map(([name, value]): [string, string] => [
      name,
      name === 'content' ? 'another text' : value,
    ])
    const conflict = await person.send(
      '/new',
      changed.filter(([, value]) => value !== ''),
    )
    t.equal(conflict.status, 409)
    t.match(draftOn(conflict, '/new', 'title'), {
      problem: /was sent before, with another text/,
      content: 'another text',
    })
    const third = await person.fill(conflict, '/new', { title: 'once' })
    t.equal(third.status, 303)
    t.not(third.location, first.location)
    t.equal((await scene.call('get', '/api/threads')).threads.length, 2)
  })

  t.test(`${process}: what is refused is said, and what was typed stays`, (t) => drafts(t, process))

  t.test(
    `${process}: the longest text is published; a form with no end to it is refused`,
    async (t) => {
      const scene = new Scene(process)
      const ana = await scene.identity('Ana')
      const person = await scene.signedIn(ana.token)
      const content = '\u{1f600}'.repeat(8000)
      const form = await person.open('/new')
      t.equal((await person.fill(form, '/new', { title: 'long', content })).status, 303)
      const stranger = scene.person()
      const display_name = '"'.repeat(6_000)
      const refused = await stranger.fill(await stranger.open('/sign-in'), '/register', {
        display_name,
      })
      t.equal(refused.status, 413)
      t.match(refused.text, /This is too long: shorten it/)
    },
  )
}

async function drafts(t: Test, process: Process): Promise<void> {
  const scene = new Scene(process)
  const [ana, agent] = [await scene.identity('Ana'), await scene.identity('Agent')]
  const { thread_id } = await scene.thread(agent.token)
  const person = await scene.signedIn(ana.token)
  const content = 'what I wrote\n & <b> "quoted" \u200b\u202e'
  const again = async (action: string, fields: Record<string, string>) => {
    const page = await person.open(action)
    const [has = ''] = Object.keys(fields)
    const sent = await person.fill(page, action, fields)
    return { status: sent.status, ...draftOn(sent, action, has) }
  }
  t.match(await again('/new', { title: ' ', content }), {
    status: 400,
    problem: 'Write a title.',
    content,
  })
  t.match(await again('/new', { title: 'x'.repeat(161), content }), {
    status: 400,
    problem: 'This has 161 characters, and can have 160.',
    content,
  })
  t.match(await again('/new', { title: 'a title', content: '\u{1f600}'.repeat(8001) }), {
    status: 400,
    problem: 'This has 8001 characters, and can have 8000.',
    title: 'a title',
  })
  const action = `/t/${thread_id}`
  const reply = { content, do: 'reply' }
  const unknown = { ...reply, to: `agt_${'0'.repeat(32)}` }
  t.match(await again(action, unknown), { status: 400, problem: /cannot be mentioned/, content })
  lockThread(scene.pair.leader.forum, { id: thread_id, reason: '' })
  const form = formOn(await person.open('/new'), '/new', 'title')
  const locked = await person.send(action, [...form.slice(0, 2), ...Object.entries(reply)])
  t.equal(locked.status, 403)
  t.match(problemOn(locked), /has locked this thread/)
  t.match(locked.text, /what I wrote/)

  // The log does not accept the record. The same form, sent again, publishes.
  const { log } = scene.pair
  const page = await person.open('/new')
  log.health = 'storage_full'
  const full = await person.fill(page, '/new', { title: 'a title', content })
  t.equal(full.status, 503)
  t.match(draftOn(full, '/new', 'title'), { problem: /disk of the forum is full/, content })
  log.health = 'ok'
  const sent = await person.fill(full, '/new', { title: 'a title', content })
  t.equal(sent.status, 303)
  const { messages } = await scene.call('get', `/api/threads/${threadIn(sent.location)}`)
  t.equal(messages[0].content, content)

  const late = await person.open('/new')
  blockIdentity(scene.pair.leader.forum, { id: ana.id, reason: '' })
  scene.pair.settle()
  const long = '\u{1f600}'.repeat(8000)
  const blocked = await person.fill(late, '/new', { title: 'a title', content: long })
  t.equal(blocked.status, 401)
  t.match(draftOn(blocked, '/new', 'title'), { problem: /not signed in any more/, content: long })
}

t.test('hostile names and texts: in every form: stay text, and come back as typed', async (t) => {
  const scene = new Scene()
  const ana = await scene.identity('Ana')
  const person = await scene.signedIn(ana.token)
  const { thread_id } = await scene.thread(ana.token)
  for (const text of hostileTexts.map((each) => each.toWellFormed())) {
    // The pages are parsed strictly (markup.ts), so that markup from a text is rejected.
    const typed = text.replace(/\r\n?/g, '\n').replaceAll('\0', '')
    const long = typed.repeat(8001).slice(0, 5_000) // refused, so that it is shown again
    const sent = { title: long, content: typed, name: typed }
    const page = await person.fill(await person.open('/new'), '/new', { ...sent, do: 'find' })
    const shown = Object.fromEntries(formOn(page, '/new', 'title'))
    t.equal(shown.content, typed)
    t.equal(shown.title, long)
    const reply = { content: typed, name: typed, do: 'find' }
    const replied = await person.fill(
      await person.open(`/t/${thread_id}`),
      `/t/${thread_id}`,
      reply,
    )
    t.equal(Object.fromEntries(formOn(replied, `/t/${thread_id}`, 'content')).content, typed)
    const name = [...typed].slice(0, 80).join('')
    const visitor = scene.person()
    // Input that nobody types, such as a token of 10,000 characters, is not shown again.
    const isLong = `${new URLSearchParams({ token: typed, to: typed })}`.length > 16 << 10
    const made = await visitor.send('/register', { display_name: name, to: isLong ? '/' : typed })
    t.ok([303, 400].includes(made.status), `${made.status}`)
    const signedIn = await visitor.send('/sign-in', { token: typed, to: typed })
    t.equal(signedIn.status, isLong ? 413 : 403)
  }
})
