// The worker thread that reads blocks of text (page-reads.ts).

import { parentPort, workerData } from 'node:worker_threads'
import { realDisk } from '../../wal/disk.ts'
import { PageReads, type ReadRequest } from './page-reads.ts'

const reads = new PageReads(realDisk, workerData as string)
parentPort!.on('message', (request: ReadRequest) => parentPort!.postMessage(reads.serve(request)))
