/** Writes to a cluster's database beside its nodes: creates members and revokes their keys and plans. Every awaited change is committed. */
import { randomUUID } from 'node:crypto'
import { deriveNames } from '../../../src/exchange/brand-names.ts'
import { hashToken } from '../../../src/domain/identity/api-key.ts'
import { createApiKey } from '../../../src/domain/services/api-key-service.ts'
import { sessionLifetimes, mintToken } from '../../../src/domain/identity/session.ts'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import type { PostgresStore } from '../../../src/store/postgres/open.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds } from '../../../src/system/ids.ts'
import type { TestScope } from '../test-scope.ts'

const names = deriveNames('svc')
const ids = createIds()

export interface SeededCredential {
  readonly id: string
  readonly token: string
}

export class AccountSeeder {
  readonly store: PostgresStore

  private constructor(store: PostgresStore) {
    this.store = store
  }

  static async open(t: TestScope, url: string): Promise<AccountSeeder> {
    const process = { id: randomUUID(), version: 'desk' }
    const store = await openPostgresStore({ url, process, clock: systemClock, role: 'command', ledger: openLedger })
    t.teardown(() => store.close())
    return new AccountSeeder(store)
  }

  /** A new account and its first key. */
  async createMember(plan: string): Promise<{ readonly account: string; readonly key: SeededCredential }> {
    const at = Date.now()
    const id = ids.next('acc_', at)
    const email = `${id.slice(-12)}@example.com`
    await this.store.accounts.create({ id, email, plan, passwordHash: null, emailVerified: true, at })
    return { account: id, key: await this.createKey(id) }
  }

  async createKey(account: string): Promise<SeededCredential> {
    const keys = { prefix: names.keyPrefix, perAccount: 1_000 }
    const minted = await createApiKey({ store: this.store, ids, clock: systemClock, keys }, account, 'made at the desk', null)
    if (minted === undefined) throw new Error('the account has as many keys as it may')
    return { id: minted.key.id, token: minted.token }
  }

  /** The session of a program that was approved on the website. */
  async createSession(account: string): Promise<SeededCredential> {
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
      expiresAt: at + sessionLifetimes.cli.absoluteMs,
      hash: hashToken(token),
    })
    return { id, token }
  }
}
