// The worker thread that reads blocks of text (reader.ts).

import { parentPort, workerData } from 'node:worker_threads'
import { realDisk } from '../../../wal/disk.ts'
import { PageReads, type ReadRequest } from './reader.ts'

const reads = new PageReads(realDisk, workerData as string)
parentPort!.on('message', (request: ReadRequest) => parentPort!.postMessage(reads.serve(request)))
