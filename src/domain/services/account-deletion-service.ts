/**
 * Deletes accounts. Where a payment provider renews a plan, the renewal is ended there first. Until the provider has confirmed that, the
 * deletion is stored and the account is disabled, and a periodic job asks again, so that no card is charged for an account that is gone and
 * no deletion is forgotten.
 */
import type { AuditWriter } from '../identity/audit.ts'
import type { ClientInfo } from '../identity/client-info.ts'
import { assertNotLastOwner } from '../identity/operators/operator.ts'
import type { Reader } from '../identity/reader.ts'
import type { Store } from '../store.ts'
import type { MemberMailer } from '../member-mailer.ts'
import type { OrderServicePort } from './orders/order-service-port.ts'
import type { UsageCarryOverService } from './usage-carry-over-service.ts'

interface AccountDeletionDeps {
  readonly store: Pick<Store, 'accounts' | 'accountDeletions' | 'operators' | 'subscriptions'>
  /** Ends renewals; null where nothing is sold. */
  readonly orders: Pick<OrderServicePort, 'prepareDeletion'> | null
  readonly usageCarryOver: Pick<UsageCarryOverService, 'exportUsage'>
  /** Null: a command, which sends no emails to members. */
  readonly mailer: Pick<MemberMailer, 'sendAccountDeleted' | 'sendAccountDeletionWaits'> | null
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly onCredentialsChanged: (account: string) => void
}

export interface DeletionRequest {
  readonly reader: Reader
  readonly client: ClientInfo | null
  /** The operator has ended the renewal at the provider in another way. */
  readonly skipsProvider?: boolean
}

const [minuteMs, hourMs] = [60_000, 3_600_000]
/** The pauses between questions to the provider; the last one repeats. */
const pausesMs = [5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs]
const maxPauseMs = 6 * hourMs
const maxPerSweep = 100

export class AccountDeletionService {
  readonly #deps: AccountDeletionDeps

  constructor(deps: AccountDeletionDeps) {
    this.#deps = deps
  }

  /** `waiting`: the provider gave no answer; the account is disabled until it has. @throws LastOwnerError */
  async delete(account: string, { reader, client, skipsProvider = false }: DeletionRequest): Promise<'deleted' | 'waiting'> {
    const { store, mailer, writeAudit, clock, onCredentialsChanged } = this.#deps
    const now = clock.now()
    await assertNotLastOwner(store.operators, account, now)
    if (skipsProvider || (this.#deps.orders === null && !(await this.#isRenewed(account)))) {
      await this.#erase(account, reader, client)
      return 'deleted'
    }
    const wasWaiting = (await store.accountDeletions.find(account)) !== undefined
    // Before the provider is asked, so that a process that ends in between leaves a deletion that is completed.
    await store.accountDeletions.request(account, { at: now, dueAt: now + getPause(0), reader })
    onCredentialsChanged(account)
    if (await this.#endRenewals(account)) {
      await this.#erase(account, reader, client)
      return 'deleted'
    }
    if (wasWaiting) return 'waiting'
    await writeAudit('account_deletion_waiting', account, client, { reason: 'the renewal could not be ended' })
    const email = (await store.accounts.find(account))?.email
    if (email != null) await mailer?.sendAccountDeletionWaits({ to: email, reader })
    return 'waiting'
  }

  /** Asks again about the deletions that are due. For one node at a time. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const { accountDeletions: deletions } = store
    const errors: unknown[] = []
    for (const { account, attempts, reader } of await deletions.listDue(clock.now(), maxPerSweep, maxPauseMs)) {
      if (signal.aborted) return
      try {
        if (await this.#endRenewals(account)) await this.#erase(account, reader, null)
        else await deletions.postpone(account, clock.now() + getPause(attempts + 1))
      } catch (error) {
        errors.push(error)
        // One that fails here keeps no other from being asked about; where the database takes no writes, the next sweep repeats it.
        await deletions.postpone(account, clock.now() + getPause(attempts + 1)).catch(() => undefined)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} deletions could not be completed`)
  }

  async #endRenewals(account: string): Promise<boolean> {
    const { orders } = this.#deps
    return orders === null ? !(await this.#isRenewed(account)) : orders.prepareDeletion(account)
  }

  /** By a provider that may be configured no more. */
  async #isRenewed(account: string): Promise<boolean> {
    const subscriptions = await this.#deps.store.subscriptions.list(account)
    return subscriptions.some(({ renewal, state }) => renewal === 'provider' && state !== 'cancelled')
  }

  /** Erases the person; the ledger and receipts stay. */
  async #erase(id: string, reader: Reader, client: ClientInfo | null): Promise<void> {
    const { store, usageCarryOver, mailer, writeAudit, clock, onCredentialsChanged } = this.#deps
    const account = await store.accounts.find(id)
    const carryOver = account === undefined ? null : await usageCarryOver.exportUsage(account)
    const isErased = await store.accounts.erase(id, clock.now(), carryOver)
    onCredentialsChanged(id)
    if (!isErased) return
    await writeAudit('account_deleted', id, client, null)
    if (account?.email != null) await mailer?.sendAccountDeleted({ to: account.email, reader }, clock.now())
  }
}

function getPause(attempts: number): number {
  return pausesMs[Math.min(attempts, pausesMs.length - 1)] ?? maxPauseMs
}
