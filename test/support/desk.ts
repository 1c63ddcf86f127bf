/** Beside the nodes of a cluster, straight on its database: makes members, and takes from them what they had. What it awaits has been committed. */
import { randomUUID } from 'node:crypto'
import { namesOf } from '../../src/config/brand.ts'
import { hashToken } from '../../src/membership/api-key.ts'
import { mintKey } from '../../src/membership/key-desk.ts'
import { lifetimes, mintToken } from '../../src/membership/session.ts'
import { openLedger } from '../../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../../src/store/postgres/open.ts'
import type { PostgresStore } from '../../src/store/postgres/open.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds } from '../../src/system/ids.ts'
import type { Scope } from './scope.ts'

const names = namesOf('svc')
const ids = createIds()

export interface Made {
  readonly id: string
  readonly token: string
}

export class Desk {
  readonly store: PostgresStore

  private constructor(store: PostgresStore) {
    this.store = store
  }

  static async open(t: Scope, url: string): Promise<Desk> {
    const process = { id: randomUUID(), version: 'desk' }
    const store = await openPostgresStore({ url, process, clock: systemClock, role: 'guest', ledger: openLedger })
    t.teardown(() => store.close())
    return new Desk(store)
  }

  /** A new account and its first key. */
  async member(plan: string): Promise<{ readonly account: string; readonly key: Made }> {
    const at = Date.now()
    const id = ids.next('acc_', at)
    const email = `${id.slice(-12)}@example.com`
    await this.store.accounts.create({ id, email, plan, passwordHash: null, emailVerified: true, at })
    return { account: id, key: await this.key(id) }
  }

  async key(account: string): Promise<Made> {
    const keys = { prefix: names.keyPrefix, perAccount: 1_000 }
    const made = await mintKey({ store: this.store, ids, clock: systemClock, keys }, account, 'made at the desk', null)
    if (made === undefined) throw new Error('the account has as many keys as it may')
    return { id: made.key.id, token: made.token }
  }

  /** As a program that was approved on the website has it. */
  async session(account: string): Promise<Made> {
    const at = Date.now()
    const id = ids.next('ses_', at)
    const token = names.sessionPrefix + mintToken((size) => ids.bytes(size))
    await this.store.sessions.create({
      id,
      account,
      kind: 'cli',
      method: 'device',
      client: null,
      address: null,
      createdAt: at,
      expiresAt: at + lifetimes.cli.absoluteMs,
      hash: hashToken(token),
    })
    return { id, token }
  }
}
