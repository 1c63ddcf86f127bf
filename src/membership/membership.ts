/** The membership's desks and books, made once and handed to routes and chores. */
import { Allowances } from './allowances.ts'
import { AppDesk } from './app-desk.ts'
import type { AllowanceTable } from './allowances.ts'
import type { AuditEvent, AuditRecord } from './audit.ts'
import { maskAddress } from './audit.ts'
import { BoostDesk } from './boost-desk.ts'
import type { BoostRules } from './boost-desk.ts'
import { DeviceDesk } from './device-desk.ts'
import type { AddressRules } from './mail-address.ts'
import type { MemberMail } from './member-mail.ts'
import { PasswordWork } from './password-work.ts'
import type { Calendar } from './period.ts'
import { SignInDesk } from './sign-in-desk.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface MembershipParts {
  readonly store: Store
  readonly mail: MemberMail
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly sessionPrefix: string
  readonly rules: AddressRules
  readonly allowances: AllowanceTable
  readonly boosts: BoostRules
  readonly defaultPlan: string
  /** Called when an account's credentials changed. */
  readonly forget: (account: string) => void
}

export interface Membership {
  readonly signIn: SignInDesk
  readonly devices: DeviceDesk
  readonly apps: AppDesk
  readonly boosts: BoostDesk
  readonly allowances: Allowances
  readonly passwords: PasswordWork
  /** Writes a security event down; `visitor` is null for what nobody asked for over the network. */
  note(event: AuditEvent, account: string, visitor: Visitor | null, detail: AuditRecord['detail']): Promise<void>
  /** Throws away everything that has run out. */
  tidy(): Promise<void>
}

/** Hashing takes a core's time: two at once leave the others to the service. */
const passwordWork = { atOnce: 2, waiting: 64 }
const dayMs = 86_400_000
const auditDays = 400
/** Longer than any approval lasts. */
const appDays = 100
const keptChanges = 10_000
const sweptAtOnce = 1_000

export function createMembership(parts: MembershipParts): Membership {
  const { store, clock, ids } = parts
  const allowances = new Allowances(store.counters, parts.allowances)
  const passwords = new PasswordWork(passwordWork)
  return {
    signIn: new SignInDesk({ ...parts, allowances, passwords }),
    devices: new DeviceDesk({ ...parts, allowances }),
    apps: new AppDesk({ ...parts, allowances }),
    boosts: new BoostDesk({
      ...parts,
      boosts: store.boosts,
      ledger: store.ledger,
      rules: parts.boosts,
      mergeAliases: parts.rules.mergeAliases,
    }),
    allowances,
    passwords,
    async note(event, account, visitor, detail) {
      const at = clock.now()
      const address = visitor === null ? null : maskAddress(visitor.address)
      const requestId = visitor?.requestId ?? null
      await store.audit.record({ id: ids.next('aud_', at), account, event, at, address, requestId, detail })
    },
    async tidy() {
      const now = clock.now()
      await store.mailCodes.sweep(now)
      await store.providerLogins.sweep(now)
      // A code that is over is still told apart from one that never was, for a day.
      await store.devices.sweep(now - dayMs)
      await store.counters.sweep(now)
      await store.sessions.sweep(now, sweptAtOnce)
      await store.apps.sweep(now, { unapproved: now - dayMs, unused: now - appDays * dayMs }, sweptAtOnce)
      await store.audit.sweep(now - auditDays * dayMs, sweptAtOnce)
      await store.changes.sweep(keptChanges)
    },
  }
}
