import t from 'tap'

t.test('the test runner runs compiled tests', async (t) => {
  t.equal(1, 1)
})
