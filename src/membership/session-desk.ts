/** Where members see what is signed in to their account, end it, and read what happened. */
import { hashToken } from './api-key.ts'
import type { AuditRecord, Note } from './audit.ts'
import { endOf } from './session.ts'
import type { Session } from './session.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface SessionParts {
  readonly store: Pick<Store, 'sessions' | 'audit'>
  readonly note: Note
  readonly clock: { now(): number }
  /** Called when an account's credentials changed, so that no memory of them is used again. */
  readonly forget: (account: string) => void
}

export class SessionDesk {
  readonly #parts: SessionParts

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /** Those that have not run out, newest first. */
  async list(account: string): Promise<readonly Session[]> {
    const { store, clock } = this.#parts
    const now = clock.now()
    return (await store.sessions.list(account)).filter((session) => endOf(session) > now)
  }

  /** The session behind a token, as the store has it. */
  async of(token: string): Promise<Session | undefined> {
    return (await this.#parts.store.sessions.findByHash(hashToken(token)))?.session
  }

  /** False where the account has no such session. */
  async end(account: string, id: string, visitor: Visitor): Promise<boolean> {
    const { store, note, forget } = this.#parts
    if (!(await store.sessions.end(account, id))) return false
    forget(account)
    await note('session_ended', account, visitor, { session: id })
    return true
  }

  /** All but this one; how many. */
  async endOthers(account: string, id: string, visitor: Visitor): Promise<number> {
    const { store, note, forget } = this.#parts
    const ended = await store.sessions.endOthers(account, id)
    forget(account)
    await note('session_ended', account, visitor, { ended_sessions: ended })
    return ended
  }

  async signOut(account: string, id: string, visitor: Visitor): Promise<void> {
    const { store, note, forget } = this.#parts
    await store.sessions.end(account, id)
    forget(account)
    await note('signed_out', account, visitor, { session: id })
  }

  /** Ends what a browser had before it signs in anew: a sign-in never goes on with an old value. */
  async leave(token: string): Promise<void> {
    const { store, forget } = this.#parts
    const former = await this.of(token)
    if (former === undefined) return
    await store.sessions.end(former.account, former.id)
    forget(former.account)
  }

  /** What happened to the account, newest first, and whether there is more. `before` is an id. */
  async events(
    account: string,
    { before = '', limit }: { readonly before?: string | undefined; readonly limit: number },
  ): Promise<{ readonly records: readonly AuditRecord[]; readonly hasMore: boolean }> {
    const { store } = this.#parts
    const records = await store.audit.list({ account, limit: limit + 1, ...(before === '' ? {} : { before }) })
    return { records: records.slice(0, limit), hasMore: records.length > limit }
  }
}
