// Makes a stream of the servers at the first start.

import {
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { apiCode, streamNotFound } from './errors.ts'

type Making = Pick<StreamConfig, 'name' | 'subjects' | 'discard' | 'num_replicas'> &
  Partial<StreamConfig>

/** Makes the stream if it is missing: in files, without an age at which messages are removed. */
export async function makeStream(manager: JetStreamManager, stream: Making): Promise<void> {
  try {
    await manager.streams.info(stream.name)
  } catch (error) {
    if (apiCode(error) !== streamNotFound) throw error
    const kept = { retention: RetentionPolicy.Limits, storage: StorageType.File }
    await manager.streams.add({ ...kept, ...stream })
  }
}
