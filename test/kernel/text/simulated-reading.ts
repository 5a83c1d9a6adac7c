// A simulation of the thread that reads text: messages to and from it are copied as between
// threads, and it serves a request when the simulated disk completes one of its operations.

import { PageReads, type StartReading } from '../../../src/kernel/text/reader.ts'
import type { SimulatedDisk } from '../../wal/simulated-disk.ts'

export function readingOf(disk: SimulatedDisk): StartReading {
  return (dir, onAnswer) => {
    const reads = new PageReads(disk, dir)
    let isEnded = false
    return {
      post(request) {
        const received = structuredClone(request)
        disk.later(() => {
          if (!isEnded) onAnswer(structuredClone(reads.serve(received)))
        })
      },
      end() {
        isEnded = true
        reads.close()
      },
    }
  }
}
