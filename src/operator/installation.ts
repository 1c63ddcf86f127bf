/** What a command of the operator works with: the configuration and the store, opened beside a server that may be running. */
import type { Names } from '../config/brand.ts'
import { namesOf } from '../config/brand.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import { loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { openStore } from '../gateway/open-store.ts'
import { createIds } from '../system/ids.ts'
import type { Ids } from '../system/ids.ts'
import type { Account } from '../membership/account.ts'
import { byOperator, notesIn } from '../membership/audit.ts'
import type { KeyRules } from '../membership/key-desk.ts'
import { calendarOf } from '../membership/period.ts'
import type { Calendar } from '../membership/period.ts'
import type { Store } from '../membership/store.ts'

export interface Installation {
  readonly config: GatewayConfig
  readonly names: Names
  readonly store: Store
  readonly ids: Ids
  readonly clock: Clock
  readonly calendar: Calendar
  readonly keys: KeyRules
  /** Writes down what the operator did to an account. */
  readonly note: ReturnType<typeof byOperator>
}

/** A command that cannot do what it was asked; its message is for the operator. */
export class CommandError extends Error {}

/** Opens the installation, does the work, closes it again whatever happens. */
export async function withInstallation<Result>(work: (installation: Installation) => Promise<Result>): Promise<Result> {
  const config = await loadConfig()
  const store = await openStore(config)
  try {
    const names = namesOf(config.brand.slug)
    const parts = { config, names, store, ids: createIds(), clock: systemClock, calendar: calendarOf(config.timeZone) }
    const keys = { prefix: names.keyPrefix, perAccount: config.limits.keysPerAccount }
    return await work({ ...parts, keys, note: byOperator(notesIn(parts)) })
  } finally {
    await store.close()
  }
}

/** @throws CommandError */
export async function accountOf({ store }: Installation, idOrEmail: string): Promise<Account> {
  const account = await store.accounts.find(idOrEmail)
  if (account === undefined) throw new CommandError(`There is no account '${idOrEmail}'. See: svc-gateway account list`)
  return account
}

/** @throws CommandError naming the plans there are */
export function planOf({ config }: Installation, plan: string): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  throw new CommandError(`There is no plan '${plan}'. Plans: ${Object.keys(config.plans).join(', ')}.`)
}
