/** Opens, lists and ends a member's sessions, and lists their security events. */
import { hashToken } from '../../identity/api-key.ts'
import type { Account } from '../../identity/account.ts'
import { maskIp } from '../../identity/audit.ts'
import type { AuditRecord, AuditWriter } from '../../identity/audit.ts'
import { getSessionExpiry, mintToken, sessionLifetimes } from '../../identity/session.ts'
import type { Session, SessionMethod } from '../../identity/session.ts'
import type { Store } from '../../store.ts'
import type { ClientInfo } from '../../identity/client-info.ts'

interface SessionDeps {
  readonly store: Pick<Store, 'accounts' | 'sessions' | 'audit'>
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  /** Called when an account's credentials changed, so that cached copies are dropped. */
  readonly onCredentialsChanged: (account: string) => void
}

export interface OpenedSession {
  readonly account: Account
  readonly hasPassword: boolean
  readonly session: Session
  /** The cookie's value; only its hash is stored. */
  readonly token: string
}

export class SessionService {
  readonly #deps: SessionDeps

  constructor(deps: SessionDeps) {
    this.#deps = deps
  }

  /** Undefined if the account may not sign in. */
  async open(account: string, method: SessionMethod, client: ClientInfo): Promise<OpenedSession | undefined> {
    const { store, clock, ids, writeAudit } = this.#deps
    const record = await store.accounts.findForSignIn(account)
    if (record?.account.status !== 'active') return undefined
    const at = clock.now()
    const token = client.sessionToken ?? mintToken((size) => ids.bytes(size))
    const session = {
      id: ids.next('ses_', at),
      account,
      kind: 'web' as const,
      method,
      client: client.name,
      address: maskIp(client.ip),
      createdAt: at,
      expiresAt: at + sessionLifetimes.web.absoluteMs,
    }
    if (!(await store.sessions.create({ ...session, hash: hashToken(token) }))) return undefined
    await writeAudit('signed_in', account, client, { method, session: session.id })
    return { account: record.account, hasPassword: record.passwordHash !== null, session: { ...session, lastUsedAt: at }, token }
  }

  /** Sessions that have not expired, newest first. */
  async list(account: string): Promise<readonly Session[]> {
    const { store, clock } = this.#deps
    const now = clock.now()
    return (await store.sessions.list(account)).filter((session) => getSessionExpiry(session) > now)
  }

  /** The session of a token, as stored. */
  async findByToken(token: string): Promise<Session | undefined> {
    return (await this.#deps.store.sessions.findByHash(hashToken(token)))?.session
  }

  /** False if the account has no such session. */
  async end(account: string, id: string, client: ClientInfo): Promise<boolean> {
    const { store, writeAudit, onCredentialsChanged } = this.#deps
    const endedSession = (await this.list(account)).find((session) => session.id === id)
    if (!(await store.sessions.end(account, id))) return false
    onCredentialsChanged(account)
    await writeAudit('session_ended', account, client, { session: id, client: endedSession?.client ?? null })
    return true
  }

  /** Ends all other sessions; returns how many. */
  async endOthers(account: string, id: string, client: ClientInfo): Promise<number> {
    const { store, writeAudit, onCredentialsChanged } = this.#deps
    const endedCount = await store.sessions.endOthers(account, id)
    onCredentialsChanged(account)
    await writeAudit('session_ended', account, client, { ended_sessions: endedCount })
    return endedCount
  }

  async signOut(account: string, id: string, client: ClientInfo): Promise<void> {
    const { store, writeAudit, onCredentialsChanged } = this.#deps
    await store.sessions.end(account, id)
    onCredentialsChanged(account)
    await writeAudit('signed_out', account, client, { session: id })
  }

  /** Ends a browser's previous session before a new sign-in: a sign-in never continues an old session. */
  async endByToken(token: string): Promise<void> {
    const { store, onCredentialsChanged } = this.#deps
    const session = await this.findByToken(token)
    if (session === undefined) return
    await store.sessions.end(session.account, session.id)
    onCredentialsChanged(session.account)
  }

  /** Security events of the account, newest first, and whether there are more. `before` is an id. */
  async listSecurityEvents(
    account: string,
    { before = '', limit }: { readonly before?: string | undefined; readonly limit: number },
  ): Promise<{ readonly records: readonly AuditRecord[]; readonly hasMore: boolean }> {
    const { store } = this.#deps
    const records = await store.audit.list({ account, limit: limit + 1, ...(before === '' ? {} : { before }) })
    return { records: records.slice(0, limit).map(hideOperator), hasMore: records.length > limit }
  }
}

/** A member sees that an operator acted, not who, nor from where. */
function hideOperator(record: AuditRecord): AuditRecord {
  return record.actor === null ? record : { ...record, address: null, requestId: null, actor: null, reason: null }
}
