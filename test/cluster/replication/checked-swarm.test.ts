// The swarm and its check of the history, on one node without replication, which is killed: they
// find no contradiction. That they do find contradictions is shown in sightings.test.ts.

import t from 'tap'
import { dataDirectory, Program } from '../../api/process.ts'
import { chosenSeed } from '../../depth.ts'
import { freePort } from '../../free-port.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { CheckedSwarm, type Place } from './checked-swarm.ts'

t.test('swarm: a node is killed while it acts: one history', async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const data = dataDirectory(t)
  const place: Place = { name: 'node', url: null }
  let server: Program
  const port = `${await freePort()}`
  const start = async () => {
    server = new Program(['serve', '--port', port, '--data', data])
    place.url = (await server.logged('started')).url!
  }
  await start()
  const swarm = new CheckedSwarm([place], seededRandom(chosenSeed))
  await swarm.prepare()
  swarm.start()
  for (let kills = 0; kills < 2; kills++) {
    await swarm.acknowledges(60)
    await server!.stop('SIGKILL')
    await start()
  }
  await swarm.acknowledges(20)
  await swarm.stop()
  t.same(await swarm.differences(), [])
  t.ok(swarm.seen.pages.length > 5, `${swarm.seen.pages.length} pages`)
  t.ok(swarm.outcomes.get('no answer'), 'some writes were not answered')
  await server!.stop('SIGTERM')
})
