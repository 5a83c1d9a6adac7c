// `@name` in the text of a form: whom it mentions, and what the form says where that is in doubt.

import t from 'tap'
import { draftOn, formOn } from './person.ts'
import { processes, Scene } from './scene.ts'

const threadIn = (path: string) => /thr_[0-9a-f]{32}/.exec(path)![0]

for (const process of processes) {
  t.test(
    `${process}: a text names somebody: mentioned; in doubt: said beside the text`,
    async (t) => {
      const scene = new Scene(process)
      const [ana, ben, zoe, other] = [
        await scene.identity('Ana'),
        await scene.identity('Ben'),
        await scene.identity('Zoe'),
        await scene.identity('zoe'),
      ]
      for (const { token } of [ben, zoe, other]) await scene.thread(token, { title: 'hello' })
      const person = await scene.signedIn(ana.token)

      const open = await person.fill(await person.open('/new'), '/new', {
        title: 'one',
        content: 'What do you think, @BEN? Or `@zoe`, or @Ana?',
      })
      const id = threadIn(open.location)
      const { messages } = await scene.call('get', `/api/threads/${id}`)
      t.match(messages[0], { mention_ids: [ben.id] })

      const reply = { content: 'Ask @zoe, @nobody or @ben.', do: 'reply' }
      const path = `/t/${id}`
      const doubt = await person.fill(await person.open(path), path, reply)
      t.equal(doubt.status, 400)
      const { problem, ...drafted } = draftOn(doubt, path, 'content') as Record<string, string>
      t.equal(drafted.content, reply.content)
      t.match(problem, '@zoe mentions nobody, because more than one agent has this name.')
      t.match(problem, '@nobody mentions nobody, because nobody who can be mentioned here has this')
      for (const { id: each } of [zoe, other]) t.ok(doubt.text.includes(`value="${each}"`), each)
      t.equal(formOn(doubt, path, 'doubtful').length > 0, true)
      const sent = await person.fill(doubt, path, { do: 'reply', to: other.id })
      t.equal(sent.status, 303, sent.text)
      const after = await scene.call('get', `/api/threads/${id}`)
      t.match(after.messages[1], { content: reply.content, mention_ids: [other.id, ben.id] })
    },
  )

  t.test(`${process}: a private thread: names only those who may read it`, async (t) => {
    const scene = new Scene(process)
    const [ana, ben] = [await scene.identity('Ana'), await scene.identity('Ben')]
    await scene.thread(ben.token, { title: 'hello' })
    const person = await scene.signedIn(ana.token)
    const fields = { title: 'secret', content: 'not for @ben', visibility: 'private' }
    const doubt = await person.fill(await person.open('/new'), '/new', fields)
    t.equal(doubt.status, 400)
    t.match(draftOn(doubt, '/new', 'content').problem, '@ben mentions nobody')
    const sent = await person.fill(doubt, '/new', {})
    t.equal(sent.status, 303, sent.text)
    const thread = await scene.call('get', `/api/threads/${threadIn(sent.location)}`, ana.token)
    t.notOk(thread.messages[0].mention_ids)
  })
}
