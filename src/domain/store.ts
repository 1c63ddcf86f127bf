/** The storage port in domain terms. SQLite and PostgreSQL implement it; callers must not depend on either. */
import type { Accounts } from './identity/account.ts'
import type { ApiKeys } from './identity/api-key.ts'
import type { Images } from './image.ts'
import type { OAuthClients } from './identity/oauth-client.ts'
import type { Audit } from './identity/audit.ts'
import type { Boosts } from './billing/boost.ts'
import type { CredentialChanges } from './credential-changes.ts'
import type { ConfigFingerprint } from './config-fingerprint.ts'
import type { DatabaseStatus } from './database-status.ts'
import type { Operators } from './identity/operators/operator.ts'
import type { Attempts } from './identity/limits/attempt-limits.ts'
import type { DeviceLogins } from './identity/device-login.ts'
import type { ProviderIdentities, ProviderLogins } from './identity/provider-identity.ts'
import type { Ledger } from './billing/ledger.ts'
import type { CarriedUsages } from './billing/usage/carried-usage.ts'
import type { EmailVerifications } from './identity/email/email-otp.ts'
import type { Sessions } from './identity/session.ts'
import type { DailyUsages, UsageSums } from './billing/usage/usage.ts'
import type { Notices } from './notice.ts'
import type { Notifications } from './notification.ts'
import type { UsageAlerts } from './billing/usage/usage-alert.ts'
import type { Orders } from './billing/orders/order.ts'
import type { AccountDeletions } from './identity/account-deletion.ts'
import type { PurchaseNotices } from './billing/orders/purchase-notice.ts'
import type { RedeemCodes } from './billing/redeem-code.ts'
import type { SaleLists } from './billing/sale-lists.ts'
import type { Subscriptions } from './billing/subscriptions/subscription.ts'
import type { TakenOutTargets } from './taken-out-target.ts'
import type { TurnHistoryStore } from './turn-history/turn-history-store.ts'

/** The other nodes that use the same database. */
export interface Cluster {
  /** Number of live nodes, this one included. */
  countNodes(): number
  /**
   * Whether this node should run a periodic job now. A lease avoids duplicate work; every job is correct if two nodes run it. A node whose
   * clock differs from the database's gets no lease, because jobs delete by the time of day.
   */
  acquireJobLease(job: string, intervalMs: number): Promise<boolean>
  /** Records how the last run of a background job ended, for the status that all nodes and commands read. No error: it succeeded. */
  recordJobResult(job: string, error?: unknown): void
  /** This node's configuration has changed; the other nodes see that within seconds. */
  setConfigFingerprint(config: ConfigFingerprint): void
  /** The database's current status. May take as long as the database delays any query. @throws if it cannot be read */
  readDatabaseStatus(): Promise<DatabaseStatus>
}

export interface Store {
  /** Null: the database belongs to one machine, and no other node writes to it. */
  readonly cluster: Cluster | null
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly images: Images
  readonly sessions: Sessions
  readonly oauthClients: OAuthClients
  readonly emailVerifications: EmailVerifications
  readonly providerIdentities: ProviderIdentities
  readonly providerLogins: ProviderLogins
  readonly deviceLogins: DeviceLogins
  readonly boosts: Boosts
  readonly subscriptions: Subscriptions
  readonly redeemCodes: RedeemCodes
  readonly orders: Orders
  readonly saleLists: SaleLists
  readonly accountDeletions: AccountDeletions
  readonly purchaseNotices: PurchaseNotices
  readonly attempts: Attempts
  readonly carriedUsage: CarriedUsages
  readonly operators: Operators
  readonly takenOutTargets: TakenOutTargets
  readonly audit: Audit
  readonly credentialChanges: CredentialChanges
  readonly dailyUsage: DailyUsages
  readonly usageSums: UsageSums
  readonly usageAlerts: UsageAlerts
  readonly notices: Notices
  readonly notifications: Notifications
  readonly turnHistory: TurnHistoryStore
  readonly ledger: Ledger
  /** Writes a consistent copy of everything into a new file while the service runs. */
  backup(file: string): Promise<void>
  /** Ends the writer after the queued operations; nothing acknowledged is lost. Pending settlements are retried for `flushMs`, default 1 s. */
  close(options?: { readonly flushMs?: number }): Promise<void>
}
