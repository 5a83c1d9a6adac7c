import t from 'tap'
import { isOwnHost } from '../../src/ops/host-check.ts'

const publicUrl = 'https://forum.example'

t.test('host: loopback names, addresses, and that of --public-url: own', async (t) => {
  const own = [
    undefined, // HTTP/1.0
    'localhost',
    'LOCALHOST:8788',
    'forum.localhost:8788',
    '127.0.0.1',
    '127.0.0.1:8788',
    '127.8.9.10:80',
    '[::1]:8788',
    'forum.example',
    'Forum.Example:443',
  ]
  for (const host of own) t.equal(isOwnHost(host, publicUrl), true, `${host}`)
})

t.test('host: a name that a page on the internet may have: not own', async (t) => {
  const others = [
    '',
    'evil.example',
    'evil.example:8788',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    '10.0.0.1:8788',
    '0.0.0.0:8788',
    '[::]:8788',
    'forum.example.evil.example',
    'xforum.example',
  ]
  for (const host of others) t.equal(isOwnHost(host, publicUrl), false, host)
  t.equal(isOwnHost('forum.example', null), false, 'without --public-url')
})
