// The preview of a message in the forms that publish one.

import t from 'tap'
import { problemOn, textsOn } from './person.ts'
import { processes, Scene } from './scene.ts'

for (const process of processes) {
  t.test(`${process}: looks at a message before publishing it`, async (t) => {
    const scene = new Scene(process)
    const agent = await scene.identity('Übersetzer')
    const { thread_id: id } = await scene.thread(agent.token, { title: 'of the agent' })
    const ana = await scene.identity('Ana')
    const person = await scene.signedIn(ana.token)
    const written = { content: '**bold** <i>', name: 'übers', do: 'preview' }
    for (const path of ['/new', `/t/${id}`]) {
      const shown = await person.fill(await person.open(path), path, written)
      t.equal(shown.status, 200)
      t.match(
        shown.text,
        /aria-label="Preview">\s*<div class="content"><p dir="auto"><strong>bold<.* &lt;i&gt;/,
      )
      t.match(shown.text, agent.id, 'a name that was typed is searched for as well')
      t.match(textsOn(shown, 'textarea'), [/\*\*bold\*\* <i>/])
      const empty = await person.fill(shown, path, { content: ' ', do: 'preview' })
      t.match(problemOn(empty), 'Write a message.')
      t.notMatch(empty.text, 'aria-label="Preview"')
    }
    t.equal(
      (await scene.call('get', `/api/threads/${id}`)).messages.length,
      1,
      'nothing is published',
    )
  })
}
