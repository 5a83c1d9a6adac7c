import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeNewDirectory } from '../../src/cli/new-directory.ts'
import { dataDirectory } from '../api/process.ts'

const names = { flag: '--data', what: 'import' }

t.test('new directory: two at once: one makes it, the other says so and leaves it', async (t) => {
  const to = dataDirectory(t)
  let finish = () => {}
  const made = makeNewDirectory(to, names, async (unfinished) => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    writeFileSync(join(unfinished, 'file'), 'whole')
  })
  const second = makeNewDirectory(to, names, async () => t.fail('begun a second time'))
  await t.rejects(second, /another import is making it, or it is left over/)
  finish()
  await made
  t.same(readdirSync(to), ['file'])
  t.notOk(existsSync(`${to}.partial`))
})

t.test(
  'new directory: what fills it fails: nothing is left, but what was there before',
  async (t) => {
    const parent = dataDirectory(t)
    const to = join(parent, 'new')
    const fails = async () => {
      throw new Error('no')
    }
    await t.rejects(makeNewDirectory(to, names, fails), /no/)
    t.same(readdirSync(parent), [])
    mkdirSync(`${to}.partial`)
    await t.rejects(makeNewDirectory(to, names, fails), /left over/)
    t.same(readdirSync(parent), ['new.partial'])
  },
)
