/** Where members decide on programs that ask to use the tools for them. The protocol around it is `connect/`. */
import type { Account } from './account.ts'
import type { Allowances } from './allowances.ts'
import { hashToken } from './api-key.ts'
import type { AppMetadata } from './app.ts'
import { maskAddress } from './audit.ts'
import type { Note } from './audit.ts'
import type { MemberMail } from './member-mail.ts'
import { lifetimes, mintToken } from './session.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface AppParts {
  readonly store: Pick<Store, 'apps'>
  readonly allowances: Allowances
  readonly mail: MemberMail
  readonly note: Note
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
}

/** A program as the member is shown it. */
export interface AskingApp {
  readonly id: string
  readonly name: string
}

/** Registering is open to strangers; so many programs are known at once at most. */
const mostApps = 5_000
/** How long a program has to fetch its first token; an approval it never takes up ends then. */
const firstTokenMs = 120_000

export class AppDesk {
  readonly #parts: AppParts

  constructor(parts: AppParts) {
    this.#parts = parts
  }

  /** The new program's id; undefined where no more are taken. `toMetadata` is given that id. @throws Busy */
  async register(toMetadata: (id: string, now: number) => AppMetadata, visitor: Visitor): Promise<AppMetadata | undefined> {
    const { store, allowances, clock, ids } = this.#parts
    const now = clock.now()
    await allowances.take('app-register', visitor.network, now)
    const id = ids.next('app_', now)
    const metadata = toMetadata(id, now)
    return (await store.apps.register({ id, metadata, createdAt: now }, mostApps)) ? metadata : undefined
  }

  /** The session that the program's tokens will belong to; undefined where the account may not have one. */
  async approve(app: AskingApp, account: Account, visitor: Visitor): Promise<string | undefined> {
    const { store, mail, clock, ids } = this.#parts
    const now = clock.now()
    const id = ids.next('ses_', now)
    const made = await store.apps.approve({
      id,
      account: account.id,
      kind: 'app',
      method: 'consent',
      client: app.name,
      app: app.id,
      address: maskAddress(visitor.address),
      createdAt: now,
      expiresAt: now + firstTokenMs,
      // Every session has a token; nobody is told this one's.
      hash: hashToken(mintToken((size) => ids.bytes(size))),
    })
    if (!made) return undefined
    await this.#parts.note('app_approved', account.id, visitor, { session: id, client: app.name })
    if (account.email !== null) await mail.deviceSignedIn(account.email, { client: app.name, hostname: null, at: now })
    return id
  }

  deny(app: AskingApp, account: Account, visitor: Visitor): Promise<void> {
    return this.#parts.note('app_denied', account.id, visitor, { client: app.name })
  }

  /** When an approval ends whatever happens. */
  endOf({ createdAt }: { readonly createdAt: number }): number {
    return createdAt + lifetimes.app.absoluteMs
  }
}
