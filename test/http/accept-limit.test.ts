// The limit on connections, where only open files can be counted.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { limitConnections, lookMs } from '../../src/http/accept-limit.ts'
import { Load, unlimited } from '../../src/http/load.ts'

function given(t: Test, connectionsMax: number) {
  const load = new Load({ ...unlimited, connectionsMax })
  const door = { isOpen: true, canOpen: true, closed: 0 }
  const files = { open: 20 }
  const unwatch = limitConnections(
    load,
    {
      close() {
        door.isOpen = false
        door.closed += 1
      },
      open() {
        door.isOpen = door.canOpen
        return door.isOpen
      },
    },
    () => files.open,
  )
  t.teardown(unwatch)
  return { load, door, files }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(lookMs / 10)
}

t.test('connections: at the limit: the door closes once, and opens below it', async (t) => {
  const { load, door, files } = given(t, 100)
  files.open = 119
  t.equal(load.connections(), 99)
  files.open = 120
  await until(() => !door.isOpen)
  t.equal(load.refused.connections, 1)
  files.open = 20 + 94
  await until(() => door.isOpen)
  t.strictSame([door.closed, load.refused.connections], [1, 1])
})

t.test('connections: the port cannot be had again: tried until it can', async (t) => {
  const { door, files } = given(t, 10)
  files.open = 40
  await until(() => !door.isOpen)
  door.canOpen = false
  files.open = 20
  await sleep(lookMs * 2)
  t.notOk(door.isOpen)
  door.canOpen = true
  await until(() => door.isOpen)
})

t.test('connections: open files cannot be counted: no limit', async (t) => {
  const { load, door, files } = given(t, 1)
  files.open = Number.NaN
  await sleep(lookMs * 2)
  t.ok(door.isOpen)
  t.ok(Number.isNaN(load.connections()))
})
