// The simulated operators who manage invitations: they issue and revoke invitations, and somebody
// registers with a code that is good, used up, revoked, expired, lost in a crash, or was never
// issued.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { Forum, Positioned } from '../../src/forum/forum.ts'
import { createIdentity } from '../../src/forum/identities/commands.ts'
import { accessCommands } from '../../src/forum/invitations/operators.ts'
import { timeOf } from '../../src/kernel/clock.ts'
import { isRejection, type Rejection } from '../../src/kernel/rejection.ts'
import type { Machine } from './machine.ts'

/** The number of codes that are remembered. */
const codesMax = 5

export class Inviters {
  readonly #machine: Machine
  #codes: string[] = []
  /** The forum time when the last command began. */
  #at = 0

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Performs one random action. */
  act(): void {
    const drawn = this.#below(6)
    if (drawn === 0 || this.#codes.length === 0) this.#issue()
    else if (drawn <= 2) this.#revoke()
    else this.#register()
  }

  #issue(): void {
    const [uses, days] = [1 + this.#below(3), 1 + this.#below(3)]
    const issue = (forum: Forum) =>
      accessCommands.invite(forum, { uses, days, reason: 'simulated' })
    this.#run('invite', issue, {
      makes: 'invitation.issued',
      after: ({ code }) => {
        this.#codes = [code, ...this.#codes].slice(0, codesMax)
      },
    })
  }

  #revoke(): void {
    const id = this.#code()
    const isUsable = this.#usable(id)
    const revoke = (forum: Forum) => accessCommands['revoke-invite'](forum, { id, reason: '' })
    this.#run('revoke-invite', revoke, {
      makes: 'invitation.revoked',
      isDue: isUsable,
      after: ({ isNew }) => assert.equal(isNew, isUsable()),
    })
  }

  #register(): void {
    const invite = this.#code()
    const newcomer = { kind: 'persistent', displayName: 'invited', address: '', invite } as const
    const register = (forum: Forum) => createIdentity(forum, newcomer, 'invited')
    this.#run('register with an invitation', register, {
      makes: 'identity.invited',
      isDue: this.#usable(invite),
    })
  }

  /** Returns a code that was issued, or one that nobody has. */
  #code(): string {
    return this.#codes[this.#below(this.#codes.length + 1)] ?? `inv_${'0'.repeat(64)}`
  }

  /** Returns a function that tells whether the code could be used when the command began. */
  #usable(code: string): () => boolean {
    const { model } = this.#machine
    const digest = hash('sha256', code, 'hex')
    let isUsable: boolean | null = null
    return () => {
      isUsable ??= model.invitations.isUsable(digest, this.#at)
      return isUsable
    }
  }

  #run<T extends Positioned>(
    name: string,
    run: (forum: Forum) => T | Rejection,
    expected: { makes: string; isDue?: () => boolean; after?: (outcome: T) => void },
  ): void {
    const { makes, isDue = () => true, after = () => {} } = expected
    const machine = this.#machine
    let due = false
    machine.administer(
      name,
      (forum) => {
        this.#at = timeOf(forum)
        due = isDue()
        return run(forum)
      },
      (outcome, made) => {
        const has = made.some(({ record }) => record.type === makes)
        if (isRejection(outcome)) {
          machine.count(`${name} ${outcome.rejected}`)
          assert.ok(!has || outcome.rejected.startsWith('storage'), outcome.rejected)
          if (outcome.rejected === 'invalid_invite') assert.ok(!due, 'a good one is accepted')
          return
        }
        machine.count(has ? name : `${name} again`)
        assert.equal(has, due)
        after(outcome)
      },
    )
  }

  #below(count: number): number {
    return this.#machine.below(count)
  }
}
