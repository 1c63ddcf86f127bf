/** The membership's desks and books, made once and handed to routes and chores. */
import { AccountDesk } from './account-desk.ts'
import { Allowances } from './allowances.ts'
import { AppDesk } from './app-desk.ts'
import type { AllowanceTable } from './allowances.ts'
import type { Note } from './audit.ts'
import { notesIn } from './audit.ts'
import { BoostDesk } from './boost-desk.ts'
import type { BoostRules } from './boost-desk.ts'
import { DeviceDesk } from './device-desk.ts'
import { KeyDesk } from './key-desk.ts'
import type { KeyRules } from './key-desk.ts'
import { Letters } from './letters.ts'
import type { AddressRules } from './mail-address.ts'
import type { MemberMail } from './member-mail.ts'
import { PasswordWork } from './password-work.ts'
import type { Calendar } from './period.ts'
import { PersonDesk } from './person-desk.ts'
import { SessionDesk } from './session-desk.ts'
import { SignInDesk } from './sign-in-desk.ts'
import type { SignUpRules } from './sign-up.ts'
import type { Store } from './store.ts'

export interface MembershipParts {
  readonly store: Store
  readonly mail: MemberMail
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly sessionPrefix: string
  readonly rules: AddressRules & SignUpRules
  readonly allowances: AllowanceTable
  readonly boosts: BoostRules
  readonly keys: KeyRules
  readonly defaultPlan: string
  /** Passwords hashed at once. */
  readonly hashesAtOnce: number
  /** Called when an account's credentials changed. */
  readonly forget: (account: string) => void
}

export interface Membership {
  readonly signIn: SignInDesk
  readonly account: AccountDesk
  readonly keys: KeyDesk
  readonly sessions: SessionDesk
  readonly devices: DeviceDesk
  readonly apps: AppDesk
  readonly boosts: BoostDesk
  readonly allowances: Allowances
  readonly passwords: PasswordWork
  /** Writes a security event down; `visitor` is null for what nobody asked for over the network. */
  readonly note: Note
  /** Gives accounts whose plan has ended the default one. Returns how many. */
  endPlans(): Promise<number>
  /** Throws away everything that has run out. */
  tidy(): Promise<void>
}

/** Passwords that wait to be hashed. */
const waitingHashes = 64
const dayMs = 86_400_000
const auditDays = 400
/** Longer than any approval lasts. */
const appDays = 100
const keptChanges = 10_000
const sweptAtOnce = 1_000

export function createMembership(parts: MembershipParts): Membership {
  const { store, clock, forget, defaultPlan } = parts
  const allowances = new Allowances(store.counters, parts.allowances)
  const passwords = new PasswordWork({ atOnce: parts.hashesAtOnce, waiting: waitingHashes })
  const letters = new Letters({ ...parts, table: parts.allowances })
  const note = notesIn(parts)
  const persons = new PersonDesk({ ...parts, ledger: store.ledger })
  const shared = { ...parts, allowances, passwords, letters, note, persons }
  return {
    signIn: new SignInDesk(shared),
    account: new AccountDesk(shared),
    keys: new KeyDesk(shared),
    sessions: new SessionDesk(shared),
    devices: new DeviceDesk(shared),
    apps: new AppDesk(shared),
    boosts: new BoostDesk({
      ...parts,
      boosts: store.boosts,
      ledger: store.ledger,
      rules: parts.boosts,
      mergeAliases: parts.rules.mergeAliases,
    }),
    allowances,
    passwords,
    note,
    async endPlans() {
      const ended = await store.accounts.endPlans(clock.now(), defaultPlan)
      for (const account of ended) {
        forget(account)
        await note('plan_changed', account, null, { by: 'the end of the plan', plan: defaultPlan })
      }
      return ended.length
    },
    async tidy() {
      const now = clock.now()
      await letters.sweep()
      await store.providerLogins.sweep(now)
      // A code that is over is still told apart from one that never was, for a day.
      await store.devices.sweep(now - dayMs)
      await store.counters.sweep(now)
      await store.persons.sweep(now)
      await store.sessions.sweep(now, sweptAtOnce)
      await store.apps.sweep(now, { unapproved: now - dayMs, unused: now - appDays * dayMs }, sweptAtOnce)
      await store.audit.sweep(now - auditDays * dayMs, sweptAtOnce)
      await store.changes.sweep(keptChanges)
    },
  }
}
