// Reads the newest text into memory after a start, as much as fits, so that a node whose whole text
// fits is as fast as it was before it was stopped.
//
// U1. Pages are read one at a time in the background, the newest first, with a pause between two.
// U2. Text appended meanwhile takes precedence: pages read here give way to it (text.ts, A4).
// U3. A damaged page is reported, and stays on disk.

import { crc32 } from 'node:zlib'
import { PageFiles } from '../../../wal/checkpoint/page-source.ts'
import type { PagePlace } from '../../../wal/checkpoint/paged-store.ts'
import type { Disk } from '../../../wal/disk.ts'
import { isOfSystem } from '../../../wal/errors.ts'
import type { Pause } from '../../base/pauses.ts'
import type { Text } from './text.ts'

interface WarmUpOptions {
  disk: Disk
  dir: string
  pause: Pause
  isStopped: () => boolean
  onDamaged: (page: number, place: PagePlace) => void
}

/** Reads pages until no text on disk or no room in memory is left, or until `isStopped`. */
export async function warmUp(text: Text, options: WarmUpOptions): Promise<void> {
  const { pause, isStopped, onDamaged } = options
  let page = text.pageToRead(Number.POSITIVE_INFINITY)
  for (; page !== -1 && !isStopped(); page = text.pageToRead(page)) {
    const wanted = page
    await text.read(page, async (place, into) => {
      const isRead = await isReadWhole(place, into, options)
      // A page that is no longer in this place was moved by a checkpoint; that is not damage.
      if (!isRead && text.isAt(wanted, place)) onDamaged(wanted, place)
      return isRead
    })
    const pausing = pause()
    if (pausing !== null) await pausing
  }
}

async function isReadWhole(
  { file, offset, crc }: PagePlace,
  into: Uint8Array,
  { disk, dir }: WarmUpOptions,
): Promise<boolean> {
  const files = new PageFiles({ disk, dir })
  try {
    return (await files.readLater(file, offset, into)) && crc32(into) === crc
  } catch (error) {
    if (!isOfSystem(error)) throw error
    return false
  } finally {
    files.close()
  }
}
