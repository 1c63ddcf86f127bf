/** Creates the membership services, which routes and background jobs share. */
import { AccountDeletionService } from './account-deletion-service.ts'
import { AccountService } from './account-service.ts'
import { AttemptLimits } from '../identity/limits/attempt-limits.ts'
import { OAuthClientService } from './oauth-client-service.ts'
import type { AttemptLimitTable } from '../identity/limits/attempt-limits.ts'
import type { AuditWriter } from '../identity/audit.ts'
import { createAuditWriter } from '../identity/audit.ts'
import { BoostService } from './boost-service.ts'
import type { BoostRules } from './boost-service.ts'
import { DeviceLoginService } from './sign-in/device-login-service.ts'
import { ApiKeyService } from './api-key-service.ts'
import { FormIdService } from './form-id-service.ts'
import type { ApiKeyRules } from './api-key-service.ts'
import { EmailVerificationService } from './sign-in/email-verification-service.ts'
import type { EmailRules } from '../identity/email/email-address.ts'
import type { MemberMailer } from '../member-mailer.ts'
import { PasswordHasher } from '../identity/passwords/password-hasher.ts'
import type { PaymentProvider } from '../billing/orders/payment-provider.ts'
import type { Calendar } from '../billing/period.ts'
import { createCalendar } from '../billing/period.ts'
import type { Plan } from '../billing/catalog/plan.ts'
import { UsageCarryOverService } from './usage-carry-over-service.ts'
import { OrderService } from './orders/order-service.ts'
import type { PackOffer } from './orders/order-answers.ts'
import { PurchaseMailService } from './orders/purchase-mail-service.ts'
import { SessionService } from './sign-in/session-service.ts'
import type { GroupPlans } from './sign-in/group-plan-service.ts'
import { GroupPlanService } from './sign-in/group-plan-service.ts'
import { ProviderSignInService } from './sign-in/provider-sign-in-service.ts'
import { SignInService } from './sign-in/sign-in-service.ts'
import { SignUpService } from './sign-in/sign-up-service.ts'
import type { SignUpRules } from '../identity/sign-up-rules.ts'
import type { Store } from '../store.ts'
import { RedeemCodeService } from './redeem-code-service.ts'
import { SubscriptionService } from './subscription-service.ts'
import { UsageAlertService } from './usage-alert-service.ts'
import type { OneTimePasswords } from '../identity/operators/one-time-passwords.ts'
import type { PasskeyProtocol } from '../identity/operators/passkeys.ts'
import { Mailboxes } from './mailboxes.ts'
import { CodeAdminService } from './operators/code-admin-service.ts'
import { ConsoleSessionService } from './operators/console-session-service.ts'
import { MemberAdminService } from './operators/member-admin-service.ts'
import { NoticeService } from './operators/notice-service.ts'
import { OperatorKeyService } from './operators/operator-key-service.ts'
import type { GroupRoles } from './operators/operator-role-service.ts'
import { OperatorRoleService } from './operators/operator-role-service.ts'
import { PasskeyService } from './operators/passkey-service.ts'
import { SecondFactorService } from './operators/second-factor-service.ts'
import { TargetRoutingService } from './operators/target-routing-service.ts'
import { TurnHistoryService } from './operators/turn-history-service.ts'

interface MembershipDeps {
  readonly store: Store
  readonly mailer: MemberMailer
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly sessionPrefix: string
  readonly operatorKeyPrefix: string
  readonly oneTimePasswords: OneTimePasswords
  readonly passkeyProtocol: PasskeyProtocol
  readonly groupRoles: GroupRoles
  readonly groupPlans: GroupPlans
  readonly rules: EmailRules & SignUpRules & { readonly mergeAliases: boolean }
  readonly attemptLimitTable: AttemptLimitTable
  readonly boostRules: BoostRules
  readonly keys: ApiKeyRules
  readonly plans: Readonly<Record<string, Plan>>
  readonly defaultPlan: string
  /** The operator's, which the calendar follows. */
  readonly timeZone: string
  /** Left out: nothing is sold. */
  readonly sales?: Sales
  /** Concurrent password hashes. */
  readonly maxConcurrentHashes: number
  /** Called when an account's credentials changed. */
  readonly onCredentialsChanged: (account: string) => void
}

interface Sales {
  /** Through whom members pay; none: nothing is sold. */
  readonly providers: ReadonlyMap<string, PaymentProvider>
  readonly packs: readonly PackOffer[]
  /** The public address of the website. */
  readonly getSite: () => string
}

export interface Membership {
  readonly signIn: SignInService
  readonly providerSignIn: ProviderSignInService
  readonly account: AccountService
  readonly deletions: AccountDeletionService
  readonly apiKeys: ApiKeyService
  readonly sessions: SessionService
  readonly deviceLogins: DeviceLoginService
  readonly oauthClients: OAuthClientService
  readonly boosts: BoostService
  readonly subscriptions: SubscriptionService
  readonly redeemCodes: RedeemCodeService
  /** Null where nothing is sold. */
  readonly orders: OrderService | null
  readonly usageAlerts: UsageAlertService
  readonly purchaseMail: PurchaseMailService
  readonly memberAdmin: MemberAdminService
  readonly codeAdmin: CodeAdminService
  readonly operatorRoles: OperatorRoleService
  readonly operatorKeys: OperatorKeyService
  readonly secondFactors: SecondFactorService
  readonly passkeys: PasskeyService
  readonly consoleSessions: ConsoleSessionService
  readonly targetRouting: TargetRoutingService
  readonly turnHistory: TurnHistoryService
  readonly notices: NoticeService
  readonly attemptLimits: AttemptLimits
  readonly formIds: FormIdService
  readonly passwords: PasswordHasher
  /** Writes an audit record; `client` is null if no request caused the event. */
  readonly writeAudit: AuditWriter
  /** Deletes everything that has expired. */
  deleteExpired(): Promise<void>
}

/** Password hashes that may wait. */
const maxPendingHashes = 64
const dayMs = 86_400_000
const auditRetentionDays = 400
/** Longer than the longest consent. */
const oauthClientRetentionDays = 100
const keptCredentialChanges = 10_000
const sweepBatchSize = 1_000

export function createMembership(deps: MembershipDeps): Membership {
  const { store, clock } = deps
  const attemptLimits = new AttemptLimits(store.attempts, deps.attemptLimitTable)
  const passwords = new PasswordHasher({ maxConcurrent: deps.maxConcurrentHashes, maxPending: maxPendingHashes })
  const emailVerification = new EmailVerificationService({ ...deps, table: deps.attemptLimitTable })
  const writeAudit = createAuditWriter({ ...deps, attemptLimits })
  const mailboxes = new Mailboxes({ ...deps, mergeAliases: deps.rules.mergeAliases })
  const usageCarryOver = new UsageCarryOverService({ ...deps, ledger: store.ledger, mailboxes })
  const sharedDeps = {
    ...deps,
    attemptLimits,
    passwords,
    emailVerification,
    writeAudit,
    mailboxes,
    usageCarryOver,
  }
  const boosts = new BoostService({
    ...deps,
    boosts: store.boosts,
    ledger: store.ledger,
    rules: deps.boostRules,
    mailboxes,
  })
  const subscriptions = new SubscriptionService(sharedDeps)
  const purchaseMail = new PurchaseMailService({ ...deps, plans: deps })
  const orders =
    deps.sales === undefined || deps.sales.providers.size === 0
      ? null
      : new OrderService({
          ...sharedDeps,
          ...deps.sales,
          subscriptions,
          boosts,
          ledger: store.ledger,
          wasAnnounced: (subscription, terms) => purchaseMail.wasAnnounced(subscription, terms),
        })
  const deletions = new AccountDeletionService({ ...sharedDeps, orders })
  const signUp = new SignUpService(sharedDeps)
  const sessions = new SessionService(sharedDeps)
  const operatorRoles = new OperatorRoleService(sharedDeps)
  const passkeys = new PasskeyService(sharedDeps)
  const groupPlans = new GroupPlanService({ ...sharedDeps, subscriptions })
  return {
    signIn: new SignInService({ ...sharedDeps, signUp, sessions }),
    providerSignIn: new ProviderSignInService({ ...sharedDeps, signUp, sessions, operatorRoles, groupPlans }),
    account: new AccountService({ ...sharedDeps, deletions }),
    deletions,
    apiKeys: new ApiKeyService(sharedDeps),
    sessions,
    deviceLogins: new DeviceLoginService(sharedDeps),
    oauthClients: new OAuthClientService(sharedDeps),
    boosts,
    subscriptions,
    redeemCodes: new RedeemCodeService({ ...sharedDeps, subscriptions, boosts }),
    orders,
    usageAlerts: new UsageAlertService({ ...deps, ledger: store.ledger, boosts, plans: deps }),
    purchaseMail,
    memberAdmin: new MemberAdminService({ ...sharedDeps, subscriptions }),
    codeAdmin: new CodeAdminService(sharedDeps),
    operatorRoles,
    operatorKeys: new OperatorKeyService(sharedDeps),
    secondFactors: new SecondFactorService({ ...sharedDeps, passkeys }),
    passkeys,
    consoleSessions: new ConsoleSessionService(sharedDeps),
    targetRouting: new TargetRoutingService(sharedDeps),
    turnHistory: new TurnHistoryService({ store, clock, historyCalendar: createCalendar(deps.timeZone) }),
    notices: new NoticeService(sharedDeps),
    attemptLimits,
    formIds: new FormIdService(sharedDeps),
    passwords,
    writeAudit,
    async deleteExpired() {
      const now = clock.now()
      await emailVerification.sweep()
      await store.providerLogins.sweep(now)
      // Kept for a day after its end, so that an expired code is distinguished from an unknown one.
      await store.deviceLogins.sweep(now - dayMs)
      await store.attempts.sweep(now)
      await store.carriedUsage.sweep(now)
      await store.operators.sweep(now)
      await store.takenOutTargets.sweep(now)
      await store.sessions.sweep(now, sweepBatchSize)
      await store.oauthClients.sweep(
        now,
        { unapproved: now - dayMs, unused: now - oauthClientRetentionDays * dayMs },
        sweepBatchSize,
      )
      await store.audit.sweep(now - auditRetentionDays * dayMs, sweepBatchSize)
      await store.notices.sweep(now - auditRetentionDays * dayMs)
      await store.credentialChanges.sweep(keptCredentialChanges)
    },
  }
}
