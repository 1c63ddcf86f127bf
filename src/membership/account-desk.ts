/** Where members change what opens their account, or leave. A session alone is not enough for either. */
import { hashToken } from './api-key.ts'
import type { AddressRules } from './mail-address.ts'
import { mailboxOf } from './mail-address.ts'
import type { PasswordVerdict } from './password-rules.ts'
import { judgePassword } from './password-rules.ts'
import type { Session } from './session.ts'
import { mintToken } from './session.ts'
import type { SignInParts } from './sign-in-desk.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

type Shared = 'allowances' | 'passwords' | 'letters' | 'persons' | 'mail' | 'note' | 'clock' | 'forget'

export interface AccountParts extends Pick<SignInParts, Shared> {
  readonly store: Pick<Store, 'accounts' | 'sessions'>
  readonly ids: { bytes(size: number): Uint8Array }
  readonly rules: Pick<AddressRules, 'mergeAliases'>
}

type Asker = Pick<Session, 'id' | 'account' | 'method' | 'createdAt'>

/** What a member brings to show that it is they: the password, or the code of a letter that they asked for in this session. */
export interface Evidence {
  readonly current: string | null
  readonly code: string | null
}

/** `wrong`: what was brought is not right. `needed`: nothing was brought, and there is no password to ask for. */
type Verdict = 'proven' | 'wrong' | 'needed'

/** Having just signed in by mail or provider is proof enough: it is what the code would prove again. */
const freshProofMs = 10 * 60_000

export class AccountDesk {
  readonly #parts: AccountParts

  constructor(parts: AccountParts) {
    this.#parts = parts
  }

  /** Sends a code to the account's own address; it is good in this session alone, and signs nobody in. @throws Busy */
  async askForProof(session: Asker, visitor: Visitor): Promise<void> {
    const { store, letters, mail, rules } = this.#parts
    const address = (await store.accounts.find(session.account))?.email
    if (address == null) return
    const { code } = await letters.write({
      address,
      mailbox: mailboxOf(address, rules.mergeAliases),
      network: visitor.network,
      known: true,
      passwordHash: null,
      invite: null,
      browser: standInToken(session),
    })
    await mail.proof(address, code)
  }

  /**
   * Sets a new password, ends every other session, and gives this one a new token.
   * @throws Busy
   */
  async changePassword(
    session: Asker,
    evidence: Evidence,
    password: string,
    visitor: Visitor,
  ): Promise<
    | { readonly kind: 'changed'; readonly token: string; readonly endedSessions: number }
    | { readonly kind: Exclude<Verdict, 'proven'> }
    | { readonly kind: 'password'; readonly why: Exclude<PasswordVerdict, 'good'> }
  > {
    const { store, passwords, mail, note, clock, ids, forget } = this.#parts
    const address = (await store.accounts.find(session.account))?.email ?? null
    // First, because a code is used up by looking at it.
    const judged = judgePassword(password, address ?? '')
    if (judged !== 'good') return { kind: 'password', why: judged }
    const verdict = await this.#judge(session, evidence, visitor, 'password change')
    if (verdict !== 'proven') return { kind: verdict }
    await store.accounts.setPasswordHash(session.account, await passwords.hash(password))
    const endedSessions = await store.sessions.endOthers(session.account, session.id)
    const token = mintToken((size) => ids.bytes(size))
    await store.sessions.renew(session.id, hashToken(token))
    forget(session.account)
    await note('password_changed', session.account, visitor, { ended_sessions: endedSessions })
    if (address !== null) await mail.passwordChanged(address, clock.now())
    return { kind: 'changed', token, endedSessions }
  }

  /** Forgets the person; the ledger stays. @throws Busy */
  async deleteAccount(session: Asker, evidence: Evidence, visitor: Visitor): Promise<'deleted' | Exclude<Verdict, 'proven'>> {
    const { store, persons, note, clock, forget } = this.#parts
    const verdict = await this.#judge(session, evidence, visitor, 'account deletion')
    if (verdict !== 'proven') return verdict
    const account = await store.accounts.find(session.account)
    const legacy = account === undefined ? null : await persons.legacyOf(account)
    await store.accounts.forget(session.account, clock.now(), legacy)
    forget(session.account)
    await note('account_deleted', session.account, visitor, null)
    return 'deleted'
  }

  /** A cookie may have been somebody else's for a week: what would lock its owner out wants proof that is as fresh as a sign-in. */
  async #judge(session: Asker, evidence: Evidence, visitor: Visitor, at: string): Promise<Verdict> {
    const { store, note } = this.#parts
    const record = await store.accounts.findForSignIn(session.account)
    const verdict = record === undefined ? 'wrong' : await this.#weigh(session, evidence, record)
    if (verdict === 'wrong') {
      const method = evidence.code === null ? 'password' : 'code'
      await note('sign_in_failed', session.account, visitor, { method, at })
    }
    return verdict
  }

  async #weigh(
    session: Asker,
    { current, code }: Evidence,
    { account, passwordHash }: { readonly account: { readonly email: string | null }; readonly passwordHash: string | null },
  ): Promise<Verdict> {
    const { allowances, passwords, letters, clock } = this.#parts
    const now = clock.now()
    if (current !== null) {
      await allowances.take('password-by-device', session.account, now, 'letter')
      const { ok } = await passwords.verify(current, passwordHash)
      if (ok) await allowances.giveBack('password-by-device', session.account)
      return ok ? 'proven' : 'wrong'
    }
    if (code !== null) {
      const proof = account.email === null ? undefined : await letters.enterCode(account.email, code, standInToken(session))
      return proof === undefined ? 'wrong' : 'proven'
    }
    if (session.method !== 'password' && now - session.createdAt <= freshProofMs) return 'proven'
    return passwordHash === null ? 'needed' : 'wrong'
  }
}

/** Takes the place of a browser's token: no browser can send it, so no code of the one kind is good for the other. */
function standInToken({ id }: Pick<Session, 'id'>): string {
  return `session ${id}`
}
