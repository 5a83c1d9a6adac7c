// The simulated operators: they lock threads, remove messages and block identities, and revoke
// locks and blocks. Some of them manage invitations (inviters.ts).

import { Inviters } from './inviters.ts'
import type { Machine } from './machine.ts'
import type { Operation } from './model-types.ts'
import { lastChange } from './pages.ts'
import type { WaitingPolls } from './waiting-polls.ts'

export class Operators {
  readonly #machine: Machine
  readonly #polls: WaitingPolls
  readonly #inviters: Inviters

  constructor(machine: Machine, polls: WaitingPolls) {
    this.#machine = machine
    this.#polls = polls
    this.#inviters = new Inviters(machine)
  }

  /** Gives one random command. */
  act(): void {
    const drawn = this.#below(4)
    if (drawn === 3) return this.#inviters.act()
    const operation = [this.#remove, this.#setLocked, this.#setBlocked][drawn].call(this)
    if (operation !== null) this.#machine.operate(operation)
  }

  #remove(): Operation | null {
    const messages = [...this.#machine.model.messages.values()]
    const message = this.#oneOf(messages.filter(({ thread }) => !thread.isExpired))
    if (message === null) return null
    const { id, thread } = message
    const hasEffect = () => message.isErased
    const changed = () => lastChange(thread)
    return { command: 'remove-message', id, makes: 'message.erased', hasEffect, changed }
  }

  #setLocked(): Operation | null {
    const threads = this.#machine.model.threads.filter(({ isExpired }) => !isExpired)
    const isLocked = this.#below(3) === 0
    const locked = threads.filter((thread) => thread.isLocked)
    const thread = this.#oneOf(isLocked || locked.length === 0 ? threads : locked)
    if (thread === null) return null
    const [command, makes] = isLocked
      ? (['lock-thread', 'thread.locked'] as const)
      : (['unlock-thread', 'thread.unlocked'] as const)
    const hasEffect = () => thread.isLocked === isLocked
    return { command, id: thread.id, makes, hasEffect, changed: () => lastChange(thread) }
  }

  #setBlocked(): Operation | null {
    const { model } = this.#machine
    // The node refuses to block the others, because nobody can act as them.
    const agents = model.agents.filter(({ isRecordedExpired, kind }) => {
      return !isRecordedExpired && kind !== 'compat'
    })
    const isBlocked = this.#below(3) === 0
    const blocked = agents.filter((agent) => agent.isBlocked)
    const waiting = agents.filter(({ id }) => this.#polls.callers.includes(id))
    const preferred = isBlocked ? waiting : blocked
    const agent = this.#oneOf(preferred.length === 0 ? agents : preferred)
    if (agent === null) return null
    const [command, makes] = isBlocked
      ? (['block-identity', 'identity.blocked'] as const)
      : (['unblock-identity', 'identity.unblocked'] as const)
    const hasEffect = () => agent.isBlocked === isBlocked
    return { command, id: agent.id, makes, hasEffect, changed: () => model.position }
  }

  #oneOf<T>(all: readonly T[]): T | null {
    return all[this.#below(all.length)] ?? null
  }

  #below(count: number): number {
    return this.#machine.below(count)
  }
}
