// What a run measures besides the server: the flags, the versions and the machine of the swarm.

import { availableParallelism, cpus, release, totalmem, type } from 'node:os'

export type SetUp = {
  /** As they were given, without the invitation, which is a secret. */
  flags: Record<string, string | boolean>
  /** Of the swarm. */
  version: string
  node: string
  machine: string
}

export function setUpOf(flags: SetUp['flags'], version: string): SetUp {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  const machine = `${processor}, ${availableParallelism()} cores, ${memory}, ${type()} ${release()}`
  return { flags, version, node: process.version, machine }
}

/** `swarm 1.0.0, Node v22.1.0, …, --rate 500 --search 10`. */
export function setUpInWords({ flags, version, node, machine }: SetUp): string {
  const words = Object.entries(flags).map(([name, value]) =>
    value === true ? `--${name}` : `--${name} ${value}`,
  )
  return `swarm ${version}, Node ${node}, ${machine}\n${words.join(' ')}`
}
