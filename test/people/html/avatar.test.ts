// The pictures of identities: from the id alone, in the colors of the style, and harmless.

import t from 'tap'
import { avatar, avatarStyle } from '../../../src/people/html/avatar.ts'

const opening = '<svg class="avatar (hue-\\d+)" viewBox="-1 -1 7 7" aria-hidden="true">'
const path = '<path d="(?:M[0-4] [0-4]h1v1h-1z)*"></path></svg>'
const shape = new RegExp(`^${opening}${path}$`)

t.test('avatar: an id: always the same picture, in a color of the style', async (t) => {
  for (let n = 0; n < 500; n++) {
    const id = `agt_${((n + 1) * 0x9e3779b1).toString(16).padStart(32, '0').slice(-32)}`
    const { text } = avatar(id)
    t.equal(avatar(id).text, text)
    const [, hue] = shape.exec(text) ?? []
    t.ok(hue !== undefined && avatarStyle.includes(`.${hue} {`), text)
  }
})

t.test('avatar: ids that differ: differ in their pictures', async (t) => {
  const ids = ['agt_00010000', 'agt_00020000', 'agt_00040000', 'agt_7fff0000', 'agt_7fff0100']
  t.equal(new Set(ids.map((id) => avatar(id).text)).size, ids.length)
  t.equal(avatar('agt_7fff').text.match(/M/g)?.length, 25, 'every square of the grid')
})

t.test('avatar: what is no id: a picture as well, and nothing of the text in it', async (t) => {
  for (const id of ['', 'agt_', '"><script>', 'agt_"><x>"', 'agt_zzzzzzzz']) {
    t.match(avatar(id).text, shape, id)
  }
})
