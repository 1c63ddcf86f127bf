/** The context of an operator command: configuration and store, opened beside a server that may be running. */
import { userInfo } from 'node:os'
import type { BrandNames } from '../exchange/brand-names.ts'
import { deriveNames } from '../exchange/brand-names.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import { loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { openStore, readSecret } from '../server/installation/open-store.ts'
import { createIds } from '../system/ids.ts'
import type { Ids } from '../system/ids.ts'
import type { Account } from '../domain/identity/account.ts'
import { createAuditWriter } from '../domain/identity/audit.ts'
import type { AuditEvent, AuditRecord, AuditWriter } from '../domain/identity/audit.ts'
import type { ApiKeyRules } from '../domain/services/api-key-service.ts'
import { CodeAdminService } from '../domain/services/operators/code-admin-service.ts'
import { Mailboxes } from '../domain/services/mailboxes.ts'
import { MemberAdminService } from '../domain/services/operators/member-admin-service.ts'
import { toAuditAuthor } from '../domain/services/operators/operator-author.ts'
import type { OperatorAuthor } from '../domain/services/operators/operator-author.ts'
import { NoticeService } from '../domain/services/operators/notice-service.ts'
import { OperatorRoleService } from '../domain/services/operators/operator-role-service.ts'
import { createCalendar } from '../domain/billing/period.ts'
import type { Calendar } from '../domain/billing/period.ts'
import { SubscriptionService } from '../domain/services/subscription-service.ts'
import { UsageCarryOverService } from '../domain/services/usage-carry-over-service.ts'
import type { Store } from '../domain/store.ts'
import { OperatorError } from '../system/operator-error.ts'

export interface Installation {
  readonly config: GatewayConfig
  readonly names: BrandNames
  readonly store: Store
  readonly ids: Ids
  readonly clock: Clock
  readonly calendar: Calendar
  readonly keys: ApiKeyRules
  /** Writes the operator's change of an account to the audit log. */
  readonly note: (event: AuditEvent, account: string, detail?: AuditRecord['detail']) => Promise<void>
  readonly writeAudit: AuditWriter
  readonly subscriptions: SubscriptionService
  readonly memberAdmin: MemberAdminService
  readonly usageCarryOver: Pick<UsageCarryOverService, 'exportUsage'>
  readonly codeAdmin: CodeAdminService
  readonly operatorRoles: OperatorRoleService
  readonly notices: NoticeService
  /** Who runs the command; a reason that was given is kept. */
  readonly createAuthor: (reason?: string) => OperatorAuthor
}

/** A command that cannot be executed; its message is for the operator. */
export class CommandError extends OperatorError {}

/** Opens the installation, runs the work, and closes it in every case. */
export async function withInstallation<Result>(work: (installation: Installation) => Promise<Result>): Promise<Result> {
  const installation = await openInstallation()
  try {
    return await work(installation)
  } finally {
    await installation.close()
  }
}

/** For a command whose output is written after it has returned: the caller closes the installation. */
export async function openInstallation(): Promise<Installation & { close(): Promise<void> }> {
  const config = await loadConfig()
  const store = await openStore(config)
  const names = deriveNames(config.brand.slug)
  const parts = { config, names, store, ids: createIds(), clock: systemClock, calendar: createCalendar(config.timeZone) }
  const keys = { prefix: names.keyPrefix, perAccount: config.limits.keysPerAccount }
  const writeAudit = createAuditWriter({ ...parts, attemptLimits: null })
  const { plans, defaultPlan } = config
  // Running servers read the changed accounts from the database.
  const onCredentialsChanged = (): void => undefined
  const subscriptions = new SubscriptionService({ ...parts, plans, defaultPlan, writeAudit, onCredentialsChanged })
  const { mergeAliases } = config.signIn
  const usageCarryOver: Installation['usageCarryOver'] = {
    async exportUsage(account) {
      const mailboxes = new Mailboxes({ store, secret: await readSecret(config), mergeAliases })
      return new UsageCarryOverService({ ...parts, ledger: store.ledger, mailboxes }).exportUsage(account)
    },
  }
  const memberAdmin = new MemberAdminService({
    ...parts,
    plans,
    defaultPlan,
    subscriptions,
    writeAudit,
    onCredentialsChanged,
    usageCarryOver,
    mailboxes: { mergesAliases: mergeAliases },
    mailer: null,
  })
  const operatorRoles = new OperatorRoleService({ ...parts, writeAudit, groupRoles: {} })
  const notices = new NoticeService({ ...parts, writeAudit })
  const actor = { kind: 'command', systemUser: getSystemUser() } as const
  const createAuthor = (reason?: string): OperatorAuthor => ({ actor, client: null, reason: reason ?? null })
  const codeAdmin = new CodeAdminService({ ...parts, writeAudit })
  const services = { subscriptions, memberAdmin, usageCarryOver, codeAdmin, operatorRoles, notices }
  const note: Installation['note'] = (event, account, detail = null) =>
    writeAudit(event, account, null, { by: 'operator', ...detail }, toAuditAuthor(createAuthor()))
  return { ...parts, keys, note, writeAudit, ...services, createAuthor, close: () => store.close() }
}

/** A container may run a user without a name. */
export function getSystemUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** @throws CommandError */
export async function requireAccount({ store }: Installation, idOrEmail: string): Promise<Account> {
  const account = await store.accounts.find(idOrEmail)
  if (account === undefined) throw new CommandError(`There is no account '${idOrEmail}'. See: svc-gateway account list`)
  return account
}

/** @throws CommandError that names the configured plans */
export function requirePlan({ config }: Installation, plan: string): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  throw new CommandError(`There is no plan '${plan}'. Plans: ${Object.keys(config.plans).join(', ')}.`)
}
