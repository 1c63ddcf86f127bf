/** What an operator changes about a member. Commands and the operator API use it, so both write the same audit records. */
import type { Calendar } from '../../billing/period.ts'
import type { Pack } from '../../billing/ledger.ts'
import type { Plans } from '../../billing/catalog/plan.ts'
import { getPlan } from '../../billing/catalog/plan.ts'
import type { Pool } from '../../billing/catalog/product.ts'
import type { EntitlementChange } from '../../billing/subscriptions/subscription.ts'
import { resolvePlan } from '../../billing/subscriptions/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { ApiKey } from '../../identity/api-key.ts'
import { maskEmail } from '../../identity/audit.ts'
import type { AuditWriter, AuditRecord, AuditEvent } from '../../identity/audit.ts'
import { unknownReader } from '../../identity/reader.ts'
import { formatInstant } from '../../instant.ts'
import type { Store } from '../../store.ts'
import type { MemberMailer } from '../../member-mailer.ts'
import type { SubscriptionService } from '../subscription-service.ts'
import type { UsageCarryOverService } from '../usage-carry-over-service.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'
import type { Mailboxes } from '../mailboxes.ts'

interface MemberAdminDeps extends Pick<Plans, 'plans' | 'defaultPlan'> {
  readonly store: Pick<Store, 'accounts' | 'apiKeys' | 'sessions' | 'ledger' | 'operators' | 'providerIdentities'>
  readonly subscriptions: SubscriptionService
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly writeAudit: AuditWriter
  readonly onCredentialsChanged: (account: string) => void
  readonly usageCarryOver: Pick<UsageCarryOverService, 'exportUsage'>
  readonly mailboxes: Pick<Mailboxes, 'mergesAliases'>
  /** Null for a command, which sends its emails itself and reports what became of them. */
  readonly mailer: Pick<MemberMailer, 'sendEmailChanged'> | null
}

export interface CreditCorrection {
  /** `adj_` + 26 characters; the same id twice is one correction. */
  readonly id: string
  readonly pool: Pool
  /** Below zero they are taken. */
  readonly credits: number
  readonly expiresAt: number
  /** The member sees it. */
  readonly reason: string
}

export class MemberAdminService {
  readonly #deps: MemberAdminDeps

  constructor(deps: MemberAdminDeps) {
    this.#deps = deps
  }

  /** The operator vouches for the address. Undefined if it is taken. */
  async createAccount(
    { email, plan, passwordHash }: { readonly email: string; readonly plan: string; readonly passwordHash: string | null },
    author: OperatorAuthor,
  ): Promise<Account | undefined> {
    const { store, ids, clock } = this.#deps
    const at = clock.now()
    const id = ids.next('acc_', at)
    const account = await store.accounts.create({ id, email, plan, passwordHash, emailVerified: true, at })
    if (account !== undefined) await this.#record('account_created', account.id, { plan }, author)
    return account
  }

  /** Undefined for an account that is deleted. The member sees the reason. */
  async setPlan(
    account: Account,
    { plan, until }: { readonly plan: string; readonly until: number | null },
    author: OperatorAuthor,
  ): Promise<EntitlementChange | undefined> {
    const entitlementChange = await this.#deps.subscriptions.give(account.id, getPlan(this.#deps, plan), until)
    if (entitlementChange === undefined) return undefined
    const { reason } = author
    // Of the change itself: another operator may have entitlementChange a plan since the account was read.
    const { before } = entitlementChange
    const detail = {
      plan,
      ...(until === null ? null : { until: formatInstant(until) }),
      before: before.plan,
      ...(before.planUntil === null ? null : { before_until: formatInstant(before.planUntil) }),
      ...(entitlementChange.plan === plan ? null : { after: entitlementChange.plan }),
      ...(reason === null ? null : { reason }),
    }
    await this.#record('plan_changed', account.id, detail, author)
    return entitlementChange
  }

  /** `over_daily_limit`: the credits do not fit into what the key may move today. */
  async adjustCredits(
    account: Account,
    { id, pool, credits, expiresAt, reason }: CreditCorrection,
    author: OperatorAuthor,
  ): Promise<{ readonly kind: 'adjusted'; readonly pack: Pack } | { readonly kind: 'over_daily_limit' }> {
    const { store, calendar, clock } = this.#deps
    const at = clock.now()
    const periods = calendar.getPeriods(at)
    const { actor } = author
    // Counted before, so that an answer that is lost counts too.
    const fits = actor.kind !== 'key' || (await store.operators.spend(actor.key, periods.day.start, Math.abs(credits)))
    if (!fits) return { kind: 'over_daily_limit' }
    const limits = resolvePlan(this.#deps, account).pools[pool]
    const pack = await store.ledger.adjust({ id, account: account.id, pool, credits, reason, at, expiresAt, periods, limits })
    await this.#record('credits_adjusted', account.id, { adjustment: id, pool, credits, reason }, { ...author, reason })
    return { kind: 'adjusted', pack }
  }

  /** False for an account that is deleted. Where it has the status already, nothing is recorded again. @throws LastOwnerError */
  async setStatus({ id }: Account, status: 'active' | 'disabled', author: OperatorAuthor): Promise<boolean> {
    const { store, onCredentialsChanged } = this.#deps
    const result = await store.accounts.setStatus(id, status)
    if (result !== 'changed') return result === 'unchanged'
    onCredentialsChanged(id)
    const [event, before] =
      status === 'active' ? (['account_enabled', 'disabled'] as const) : (['account_disabled', 'active'] as const)
    await this.#record(event, id, { before, after: status }, author)
    return true
  }

  /** Returns how many sessions ended. */
  async endSessions(account: string, author: OperatorAuthor): Promise<number> {
    const { store, onCredentialsChanged } = this.#deps
    const endedCount = await store.sessions.endOthers(account, null)
    onCredentialsChanged(account)
    await this.#record('session_ended', account, { ended_sessions: endedCount }, author)
    return endedCount
  }

  /** A key that is revoked stays so, and nothing is recorded again. */
  async revokeKey({ id, account, name, revokedAt }: ApiKey, author: OperatorAuthor): Promise<void> {
    const { store, clock, onCredentialsChanged } = this.#deps
    if (revokedAt !== null) return
    await store.apiKeys.revoke(account, id, clock.now())
    onCredentialsChanged(account)
    await this.#record('key_revoked', account, { key: id, name }, author)
  }

  /** The operator vouches for the address; both addresses receive an email. False if another account has its mailbox. */
  async changeEmail(account: Account, email: string, author: OperatorAuthor): Promise<boolean> {
    const { store, usageCarryOver, mailboxes, mailer, clock, onCredentialsChanged } = this.#deps
    const carryOver = await usageCarryOver.exportUsage(account)
    if (!(await store.accounts.setEmail(account.id, email, { onePerMailbox: mailboxes.mergesAliases, carryOver }))) return false
    onCredentialsChanged(account.id)
    const newAddress = maskEmail(email) ?? ''
    await this.#record('email_changed', account.id, { from: maskEmail(account.email), to: newAddress }, author)
    const change = { newAddress, at: clock.now() }
    for (const to of [account.email, email])
      if (to !== null) await mailer?.sendEmailChanged({ to, reader: unknownReader }, change)
    return true
  }

  /** Of one account, or of all. Returns the accounts that were linked; their next sign-in with a verified address links again. */
  async unlinkProvider(provider: string, account: string | null, author: OperatorAuthor): Promise<readonly string[]> {
    const unlinkedIds = await this.#deps.store.providerIdentities.unlink(provider, account)
    for (const id of unlinkedIds) await this.#record('provider_unlinked', id, { provider }, author)
    return unlinkedIds
  }

  async recordSentEmail(account: string, author: OperatorAuthor): Promise<void> {
    await this.#record('sign_in_email_sent', account, {}, author)
  }

  /** Members see that an operator acted, not which one. */
  #record(event: AuditEvent, account: string, detail: AuditRecord['detail'], author: OperatorAuthor): Promise<void> {
    return this.#deps.writeAudit(event, account, author.client, { by: 'operator', ...detail }, toAuditAuthor(author))
  }
}
