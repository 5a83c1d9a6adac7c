import t from 'tap'
import { startWhole, Teardown } from '../../src/base/teardown.ts'

/** Returns ends that note when they begin and have ended, and what they have noted. */
function recorded() {
  const noted: string[] = []
  const end = (name: string, failure?: Error) => async () => {
    noted.push(`${name} begins`)
    await new Promise(setImmediate)
    if (failure !== undefined) throw failure
    noted.push(`${name} ended`)
  }
  return { noted, end }
}

t.test('teardown: run, twice: all ends once, one after the other, the newest first', async (t) => {
  const { noted, end } = recorded()
  const teardown = new Teardown()
  teardown.add(end('log'))
  teardown.add(end('port'))
  const runs = [teardown.run(), teardown.run()]
  await runs[1]
  t.same(noted, ['port begins', 'port ended', 'log begins', 'log ended'])
})

t.test('teardown: some ends fail: the others end, and the first failure counts', async (t) => {
  const { noted, end } = recorded()
  const teardown = new Teardown()
  teardown.add(end('log'))
  teardown.add(end('search', new Error('second')))
  teardown.add(end('port', new Error('first')))
  await t.rejects(teardown.run(), { message: 'first' })
  t.same(noted, ['port begins', 'search begins', 'log begins', 'log ended'])
})

t.test('start: it fails halfway: what it has begun ends, and its failure counts', async (t) => {
  const { noted, end } = recorded()
  const starting = startWhole(async (teardown) => {
    teardown.add(end('log'))
    teardown.add(end('port', new Error('of the end')))
    throw new Error('of the start')
  })
  await t.rejects(starting, { message: 'of the start' })
  t.same(noted, ['port begins', 'log begins', 'log ended'])
})

t.test('start: it succeeds: nothing ends', async (t) => {
  const { noted, end } = recorded()
  const made = await startWhole(async (teardown) => {
    teardown.add(end('log'))
    return 7
  })
  t.equal(made, 7)
  t.same(noted, [])
})
