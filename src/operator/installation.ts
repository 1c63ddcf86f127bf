/** The context of an operator command: configuration and store, opened beside a server that may be running. */
import type { BrandNames } from '../exchange/brand-names.ts'
import { deriveNames } from '../exchange/brand-names.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import { loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { openStore } from '../server/open-store.ts'
import { createIds } from '../system/ids.ts'
import type { Ids } from '../system/ids.ts'
import type { Account } from '../domain/identity/account.ts'
import { asOperator, createAuditWriter } from '../domain/identity/audit.ts'
import type { AuditWriter } from '../domain/identity/audit.ts'
import type { ApiKeyRules } from '../domain/services/api-key-service.ts'
import { createCalendar } from '../domain/billing/period.ts'
import type { Calendar } from '../domain/billing/period.ts'
import { SubscriptionService } from '../domain/services/subscription-service.ts'
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
  readonly note: ReturnType<typeof asOperator>
  readonly writeAudit: AuditWriter
  readonly subscriptions: SubscriptionService
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
  return { ...parts, keys, note: asOperator(writeAudit), writeAudit, subscriptions, close: () => store.close() }
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
