/**
 * Where people prove who they are: by mail code, by password, or by a provider's word; and where they change or leave.
 *
 * Nobody learns here whether an address has an account: known and unknown take the same way, the same time, and get the same answer.
 */
import { createHash } from 'node:crypto'
import type { Account } from './account.ts'
import { hashToken } from './api-key.ts'
import { maskAddress } from './audit.ts'
import type { AuditEvent, AuditRecord } from './audit.ts'
import type { Allowances } from './allowances.ts'
import type { AddressRules } from './mail-address.ts'
import { judgeAddress, personOf } from './mail-address.ts'
import type { MemberMail } from './member-mail.ts'
import { codeLifeMs, codeTries, hashMailCode, mintMailCode, sameHash } from './mail-code.ts'
import type { PasswordVerdict } from './password-rules.ts'
import { judgePassword } from './password-rules.ts'
import type { PasswordWork } from './password-work.ts'
import type { Session, SessionMethod } from './session.ts'
import { lifetimes, mintSecretWord } from './session.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface SignInParts {
  readonly store: Pick<Store, 'accounts' | 'sessions' | 'mailCodes' | 'identities' | 'boosts' | 'audit'>
  readonly allowances: Allowances
  readonly passwords: PasswordWork
  readonly mail: MemberMail
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  /** The installation's secret. */
  readonly secret: Uint8Array
  readonly rules: AddressRules
  /** The plan of a new account. */
  readonly defaultPlan: string
  /** Called when an account's credentials changed, so that no memory of them is used again. */
  readonly forget: (account: string) => void
}

export type AskForCode =
  | { readonly kind: 'sent' }
  | { readonly kind: 'address'; readonly why: 'malformed' | 'blocked' }
  | { readonly kind: 'password'; readonly why: Exclude<PasswordVerdict, 'good'> }

export interface SignedIn {
  readonly kind: 'signed-in'
  readonly account: Account
  readonly hasPassword: boolean
  readonly session: Session
  /** The cookie's value; only its hash is kept. */
  readonly word: string
  /** The account was made just now. */
  readonly created: boolean
  /** The new account counts as somebody's invitation. */
  readonly invited: boolean
}

export type TrySignIn = SignedIn | { readonly kind: 'wrong' }

/** What a provider says of the person, checked by the protocol. */
export interface ProviderClaims {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
}

export type ProviderSignIn =
  | SignedIn
  /** The provider does not vouch for the address. */
  | { readonly kind: 'email_unverified' }
  /** There is an account for the address whose own address was never proven. */
  | { readonly kind: 'link_refused' }
  | { readonly kind: 'account_unavailable' }

/** Having signed in by something other than the password is proof enough to replace it, for so long. */
const freshProofMs = 10 * 60_000

export class SignInDesk {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  /** Mails a code that signs in, and makes the account where there is none. `password` becomes the new account's. @throws Busy */
  async askForCode(email: string, browser: string, visitor: Visitor, password: string | null = null): Promise<AskForCode> {
    const { store, allowances, passwords, mail, clock, ids, secret, rules } = this.#parts
    const verdict = judgeAddress(email, rules)
    if (verdict.kind !== 'good') return { kind: 'address', why: verdict.kind }
    const { address } = verdict
    if (password !== null) {
      const judged = judgePassword(password, address)
      if (judged !== 'good') return { kind: 'password', why: judged }
    }
    const now = clock.now()
    const subject = addressSubject(address)
    await allowances.take('code-by-network', visitor.network, now)
    await allowances.take('code-resend', subject, now)
    await allowances.take('code-by-address', subject, now)
    const code = mintMailCode((size) => ids.bytes(size))
    const browserHash = hashToken(browser)
    await store.mailCodes.put({
      browser: browserHash,
      address,
      codeHash: hashMailCode(secret, browserHash, address, code),
      passwordHash: password === null ? null : await passwords.hash(password),
      createdAt: now,
      expiresAt: now + codeLifeMs,
    })
    mail.code(address, code)
    return { kind: 'sent' }
  }

  /** @throws Busy */
  async enterCode(email: string, code: string, browser: string, visitor: Visitor, invite: string | null): Promise<TrySignIn> {
    const { store, allowances, clock, secret, rules } = this.#parts
    const now = clock.now()
    await allowances.take('verify-by-network', visitor.network, now)
    const verdict = judgeAddress(email, rules)
    if (verdict.kind !== 'good') return this.#wrong(null, 'code', visitor)
    const { address } = verdict
    const browserHash = hashToken(browser)
    const expected = await store.mailCodes.attempt(browserHash, address, now, codeTries)
    const given = hashMailCode(secret, browserHash, address, code)
    if (expected === undefined || !sameHash(expected, given)) return this.#wrong(address, 'code', visitor)
    const consumed = await store.mailCodes.consume(browserHash, address, given, now)
    // Somebody else entered the same right code a moment before: it is good for one session.
    if (consumed === undefined) return this.#wrong(address, 'code', visitor)
    await allowances.giveBack('verify-by-network', visitor.network)

    const { account, created, invited } = await this.#accountOf(address, consumed.passwordHash, invite, visitor)
    if (!created && (await store.accounts.confirmAddress(account.id))) this.#parts.forget(account.id)
    const record = await store.accounts.findForSignIn(account.id)
    // The owner of the address has no password yet and asked for this one in this browser: now it is theirs.
    if (!created && consumed.passwordHash !== null && record?.passwordHash === null) {
      await store.accounts.setPasswordHash(account.id, consumed.passwordHash)
      await this.#note('password_changed', account.id, visitor, null)
    }
    return (await this.#openSession(account.id, 'code', visitor, { created, invited })) ?? this.#wrong(address, 'code', visitor)
  }

  /** @throws Busy */
  async enterPassword(email: string, password: string, visitor: Visitor): Promise<TrySignIn> {
    const { store, allowances, passwords, clock, rules } = this.#parts
    const now = clock.now()
    const verdict = judgeAddress(email, { ...rules, blockedDomains: [], blockDisposable: false })
    const address = verdict.kind === 'good' ? verdict.address : null
    await allowances.take('password-by-network', visitor.network, now)
    await allowances.take('password-by-address', addressSubject(address ?? email), now)
    const record = address === null ? undefined : await store.accounts.findForSignIn(address)
    const usable = record !== undefined && record.account.status === 'active' && record.emailVerified
    const { ok, rehash } = await passwords.verify(password, usable ? record.passwordHash : null)
    if (!usable || !ok) return this.#wrong(address, 'password', visitor)
    const opened = await this.#openSession(record.account.id, 'password', visitor, { created: false, invited: false })
    if (opened === undefined) return this.#wrong(address, 'password', visitor)
    // Changed while this one was checked: the change ended every other session before this one was there to be ended.
    const latest = await store.accounts.findForSignIn(record.account.id)
    const changed = latest?.passwordHash !== record.passwordHash
    if (changed && !(await passwords.verify(password, latest?.passwordHash ?? null)).ok) {
      await store.sessions.end(record.account.id, opened.session.id)
      await this.#note('session_ended', record.account.id, visitor, { session: opened.session.id })
      return this.#wrong(address, 'password', visitor)
    }
    await allowances.giveBack('password-by-network', visitor.network)
    await allowances.giveBack('password-by-address', addressSubject(address ?? email))
    if (rehash && !changed) await store.accounts.setPasswordHash(record.account.id, await passwords.hash(password))
    return opened
  }

  /** Links a provider's identity by verified address only: verified by the provider, and proven here. */
  async enterByProvider(claims: ProviderClaims, visitor: Visitor, invite: string | null): Promise<ProviderSignIn> {
    const { store, clock, rules } = this.#parts
    const { provider, subject } = claims
    const known = await store.identities.find(provider, subject)
    if (known !== undefined) {
      const opened = await this.#openSession(known, 'provider', visitor, { created: false, invited: false })
      return opened ?? { kind: 'account_unavailable' }
    }
    if (claims.email === null || !claims.emailVerified) return { kind: 'email_unverified' }
    const verdict = judgeAddress(claims.email, rules)
    if (verdict.kind !== 'good') return { kind: 'account_unavailable' }
    const { account, created, invited } = await this.#accountOf(verdict.address, null, invite, visitor)
    const record = await store.accounts.findForSignIn(account.id)
    if (record?.account.status !== 'active') return { kind: 'account_unavailable' }
    if (!record.emailVerified) return { kind: 'link_refused' }
    if (await store.identities.link(provider, subject, account.id, clock.now())) {
      await this.#note('provider_linked', account.id, visitor, { provider })
    }
    return (await this.#openSession(account.id, 'provider', visitor, { created, invited })) ?? { kind: 'account_unavailable' }
  }

  /**
   * Sets a new password, ends every other session, and gives this one a new word.
   * @throws Busy
   */
  async changePassword(
    session: Pick<Session, 'id' | 'account' | 'method' | 'createdAt'>,
    current: string | null,
    password: string,
    visitor: Visitor,
  ): Promise<
    | { readonly kind: 'changed'; readonly word: string; readonly endedSessions: number }
    | { readonly kind: 'wrong' }
    | { readonly kind: 'password'; readonly why: Exclude<PasswordVerdict, 'good'> }
  > {
    const { store, passwords, mail, clock, ids, forget } = this.#parts
    if (!(await this.#mayChange(session, current))) {
      await this.#note('sign_in_failed', session.account, visitor, { method: 'password', at: 'password change' })
      return { kind: 'wrong' }
    }
    const record = await store.accounts.findForSignIn(session.account)
    const judged = judgePassword(password, record?.account.email ?? '')
    if (judged !== 'good') return { kind: 'password', why: judged }
    await store.accounts.setPasswordHash(session.account, await passwords.hash(password))
    const endedSessions = await store.sessions.endOthers(session.account, session.id)
    const word = mintSecretWord((size) => ids.bytes(size))
    await store.sessions.renew(session.id, hashToken(word))
    forget(session.account)
    await this.#note('password_changed', session.account, visitor, { ended_sessions: endedSessions })
    if (record?.account.email != null) mail.passwordChanged(record.account.email, clock.now())
    return { kind: 'changed', word, endedSessions }
  }

  /** Forgets the person; the ledger stays. @throws Busy */
  async deleteAccount(
    session: Pick<Session, 'id' | 'account' | 'method' | 'createdAt'>,
    current: string | null,
    visitor: Visitor,
  ): Promise<'deleted' | 'wrong'> {
    const { store, clock, forget } = this.#parts
    if (!(await this.#mayChange(session, current))) {
      await this.#note('sign_in_failed', session.account, visitor, { method: 'password', at: 'account deletion' })
      return 'wrong'
    }
    await store.accounts.forget(session.account, clock.now())
    forget(session.account)
    await this.#note('account_deleted', session.account, visitor, null)
    return 'deleted'
  }

  /** A session alone is not enough for what would lock its owner out: the password too, or a fresh proof of another kind. */
  async #mayChange(
    { account, method, createdAt }: Pick<Session, 'account' | 'method' | 'createdAt'>,
    current: string | null,
  ): Promise<boolean> {
    const { store, allowances, passwords, clock } = this.#parts
    const now = clock.now()
    const record = await store.accounts.findForSignIn(account)
    if (record === undefined) return false
    if (current !== null) {
      await allowances.take('password-by-address', account, now)
      const { ok } = await passwords.verify(current, record.passwordHash)
      if (ok) await allowances.giveBack('password-by-address', account)
      return ok
    }
    return record.passwordHash === null || (method !== 'password' && now - createdAt <= freshProofMs)
  }

  /** The account of a proven address, made where there is none. */
  async #accountOf(
    address: string,
    passwordHash: string | null,
    invite: string | null,
    visitor: Visitor,
  ): Promise<{ readonly account: Account; readonly created: boolean; readonly invited: boolean }> {
    const { store, clock, ids, defaultPlan } = this.#parts
    const known = await store.accounts.find(address)
    if (known !== undefined) return { account: known, created: false, invited: false }
    const at = clock.now()
    const id = ids.next('acc_', at)
    const made = await store.accounts.create({ id, email: address, plan: defaultPlan, passwordHash, emailVerified: true, at })
    if (made === undefined) {
      const other = await store.accounts.find(address)
      if (other === undefined) throw new Error('an account was taken and is gone at once')
      return { account: other, created: false, invited: false }
    }
    await this.#note('account_created', id, visitor, null)
    return { account: made, created: true, invited: invite !== null && (await this.#recordInvite(made, address, invite)) }
  }

  /** A code that nobody has is no reason to turn a new member away; it just counts for nobody. */
  async #recordInvite(account: Account, address: string, code: string): Promise<boolean> {
    const { store, clock, secret, rules } = this.#parts
    const inviter = await store.boosts.inviterOf(code)
    if (inviter === undefined) return false
    return store.boosts.recordInvite({
      invited: account.id,
      inviter: inviter.account,
      person: personOf(secret, address, rules.mergeAliases),
      inviterPerson: personOf(secret, inviter.email ?? inviter.account, rules.mergeAliases),
      at: clock.now(),
    })
  }

  /** Undefined when the account may not sign in. */
  async #openSession(
    accountId: string,
    method: SessionMethod,
    visitor: Visitor,
    news: { readonly created: boolean; readonly invited: boolean },
  ): Promise<SignedIn | undefined> {
    const { store, clock, ids } = this.#parts
    const record = await store.accounts.findForSignIn(accountId)
    if (record?.account.status !== 'active') return undefined
    const at = clock.now()
    const word = mintSecretWord((size) => ids.bytes(size))
    const session = {
      id: ids.next('ses_', at),
      account: accountId,
      kind: 'web' as const,
      method,
      client: visitor.client,
      address: maskAddress(visitor.address),
      createdAt: at,
      expiresAt: at + lifetimes.web.absoluteMs,
    }
    if (!(await store.sessions.create({ ...session, hash: hashToken(word) }))) return undefined
    await this.#note('signed_in', accountId, visitor, { method, session: session.id })
    return {
      kind: 'signed-in',
      account: record.account,
      hasPassword: record.passwordHash !== null,
      session: { ...session, lastUsedAt: at },
      word,
      ...news,
    }
  }

  /** One record, whether or not there is such an account: the writing must not tell. */
  async #wrong(address: string | null, method: SessionMethod, visitor: Visitor): Promise<{ readonly kind: 'wrong' }> {
    const account = address === null ? undefined : await this.#parts.store.accounts.find(address)
    await this.#note('sign_in_failed', account?.id ?? null, visitor, { method })
    return { kind: 'wrong' }
  }

  async #note(event: AuditEvent, account: string | null, visitor: Visitor, detail: AuditRecord['detail']): Promise<void> {
    const { store, clock, ids } = this.#parts
    const at = clock.now()
    await store.audit.record({
      id: ids.next('aud_', at),
      account,
      event,
      at,
      address: maskAddress(visitor.address),
      requestId: visitor.requestId,
      detail,
    })
  }
}

/** Counters are kept for strangers' addresses too: not as they are. */
function addressSubject(address: string): string {
  return createHash('sha256').update(address.toLowerCase()).digest('base64url').slice(0, 22)
}
