/** Changes a member's credentials or deletes the account. Both need more than a session. */
import { hashToken } from '../identity/api-key.ts'
import type { EmailRules } from '../identity/email/email-address.ts'
import { maskEmail } from '../identity/audit.ts'
import { parseEmail } from '../identity/email/email-address.ts'
import { checkSignUp } from '../identity/sign-up-rules.ts'
import type { SignUpRules } from '../identity/sign-up-rules.ts'
import type { PasswordVerdict } from '../identity/passwords/password.ts'
import { checkPassword } from '../identity/passwords/password.ts'
import type { Session } from '../identity/session.ts'
import { mintToken } from '../identity/session.ts'
import type { EmailOutcome } from '../member-mailer.ts'
import type { AccountDeletionService } from './account-deletion-service.ts'
import type { SignInDeps } from './sign-in/sign-in-service.ts'
import type { UsageCarryOverService } from './usage-carry-over-service.ts'
import type { Store } from '../store.ts'
import type { ClientInfo } from '../identity/client-info.ts'
import type { Mailboxes } from './mailboxes.ts'

type SharedDeps = 'attemptLimits' | 'passwords' | 'emailVerification' | 'mailer' | 'writeAudit' | 'clock' | 'onCredentialsChanged'

interface AccountDeps extends Pick<SignInDeps, SharedDeps> {
  readonly store: Pick<Store, 'accounts' | 'sessions'>
  readonly usageCarryOver: UsageCarryOverService
  readonly ids: { bytes(size: number): Uint8Array }
  readonly rules: EmailRules & SignUpRules
  readonly mailboxes: Mailboxes
  readonly deletions: AccountDeletionService
}

type CurrentSession = Pick<Session, 'id' | 'account' | 'method' | 'createdAt'>

/** Evidence of the member's identity: the password, or the code of an email requested in this session. */
interface Evidence {
  readonly currentPassword: string | null
  readonly code: string | null
}

/** `wrong`: the evidence is not right. `missing`: none was given, and the account has no password to ask for. */
type EvidenceVerdict = 'proven' | 'wrong' | 'missing'

/** A sign-in by email or provider within this time is evidence enough: the code would prove the same. */
const freshSignInMs = 10 * 60_000

export class AccountService {
  readonly #deps: AccountDeps

  constructor(deps: AccountDeps) {
    this.#deps = deps
  }

  /** Sends a code to the account's own address. It is valid in this session alone and signs no one in. @throws TooManyAttempts */
  async requestReauthenticationCode(session: CurrentSession, client: ClientInfo): Promise<EmailOutcome> {
    const { store, emailVerification, mailer, mailboxes } = this.#deps
    const email = (await store.accounts.find(session.account))?.email
    if (email == null) return 'queued'
    const { code } = await emailVerification.issue({
      address: email,
      mailbox: mailboxes.toMailbox(email),
      network: client.network,
      known: true,
      passwordHash: null,
      invite: null,
      browser: toSessionBrowserToken(session),
    })
    return mailer.sendReauthenticationCode({ to: email, reader: client.reader }, code)
  }

  /**
   * Sets a new password, ends every other session, and gives this one a new token.
   * @throws TooManyAttempts
   */
  async changePassword(
    session: CurrentSession,
    evidence: Evidence,
    password: string,
    client: ClientInfo,
  ): Promise<
    | { readonly kind: 'changed'; readonly token: string; readonly endedSessions: number }
    | { readonly kind: Exclude<EvidenceVerdict, 'proven'> }
    | { readonly kind: 'password'; readonly reason: Exclude<PasswordVerdict, 'good'> }
  > {
    const { store, passwords, mailer, writeAudit, clock, ids, onCredentialsChanged } = this.#deps
    const email = (await store.accounts.find(session.account))?.email ?? null
    // Before the evidence, because checking a code consumes it.
    const passwordVerdict = checkPassword(password, email ?? '')
    if (passwordVerdict !== 'good') return { kind: 'password', reason: passwordVerdict }
    const verdict = await this.#checkEvidence(session, evidence, client, 'password change')
    if (verdict !== 'proven') return { kind: verdict }
    await store.accounts.setPasswordHash(
      session.account,
      await passwords.hash(password, { network: client.network, isKnownDevice: true }),
    )
    const endedSessions = await store.sessions.endOthers(session.account, session.id)
    const token = mintToken((size) => ids.bytes(size))
    await store.sessions.renew(session.id, hashToken(token))
    onCredentialsChanged(session.account)
    await writeAudit('password_changed', session.account, client, { ended_sessions: endedSessions })
    if (email !== null) await mailer.sendPasswordChanged({ to: email, reader: client.reader }, clock.now())
    return { kind: 'changed', token, endedSessions }
  }

  /**
   * Sends a code to the address that the account shall have. Nothing reveals whether another account has it: then no email is sent.
   * @throws TooManyAttempts
   */
  async requestEmailChange(
    session: CurrentSession,
    evidence: Evidence,
    email: string,
    client: ClientInfo,
  ): Promise<
    | { readonly kind: 'sent'; readonly isDelayed: boolean }
    | { readonly kind: 'unchanged' | 'mail_unavailable' }
    | { readonly kind: 'address'; readonly reason: 'malformed' | 'blocked' }
    | { readonly kind: Exclude<EvidenceVerdict, 'proven'> }
  > {
    const { store, emailVerification, mailer, attemptLimits, clock, rules, mailboxes } = this.#deps
    const verdict = parseEmail(email, rules)
    if (verdict.kind !== 'good') return { kind: 'address', reason: verdict.kind }
    const { email: address } = verdict
    const refusal = await checkSignUp(address, { ...rules, signUp: 'open' }, async () => true)
    if (refusal !== null) return { kind: 'address', reason: 'blocked' }
    if ((await store.accounts.find(session.account))?.email === address) return { kind: 'unchanged' }
    const proof = await this.#checkEvidence(session, evidence, client, 'address change')
    if (proof !== 'proven') return { kind: proof }
    await attemptLimits.consume('email-change-by-account', session.account, clock.now())
    const { code } = await emailVerification.issue({
      address,
      mailbox: mailboxes.toMailbox(address),
      network: client.network,
      // The new address is a stranger's until it is proven.
      known: false,
      passwordHash: null,
      invite: null,
      browser: toEmailChangeToken(session),
    })
    if (code === null) return { kind: 'mail_unavailable' }
    const to = (await this.#isTaken(session.account, address)) ? null : address
    const outcome = await mailer.sendEmailChangeCode({ to, reader: client.reader }, code)
    return outcome === 'unavailable' ? { kind: 'mail_unavailable' } : { kind: 'sent', isDelayed: outcome === 'delayed' }
  }

  /** Gives the account the address that the code proves, and tells the old one. */
  async changeEmail(
    session: CurrentSession,
    { email, code }: { readonly email: string; readonly code: string },
    client: ClientInfo,
  ): Promise<'changed' | 'wrong'> {
    const { store, emailVerification, usageCarryOver, mailer, writeAudit, clock, rules, mailboxes, onCredentialsChanged } =
      this.#deps
    const verdict = parseEmail(email, rules)
    const account = await store.accounts.find(session.account)
    if (verdict.kind !== 'good' || account === undefined) return 'wrong'
    const verifiedEmail = await emailVerification.verifyCode(verdict.email, code, toEmailChangeToken(session))
    const carryOver = verifiedEmail === undefined ? null : await usageCarryOver.exportUsage(account)
    const isChanged =
      verifiedEmail !== undefined &&
      (await store.accounts.setEmail(account.id, verdict.email, { onePerMailbox: mailboxes.mergesAliases, carryOver }))
    if (!isChanged) {
      await writeAudit('sign_in_failed', account.id, client, { method: 'code', at: 'address change' })
      return 'wrong'
    }
    onCredentialsChanged(account.id)
    const newAddress = maskEmail(verdict.email) ?? ''
    await writeAudit('email_changed', account.id, client, { from: maskEmail(account.email), to: newAddress })
    if (account.email !== null)
      await mailer.sendEmailChanged({ to: account.email, reader: client.reader }, { newAddress, at: clock.now() })
    return 'changed'
  }

  async #isTaken(account: string, address: string): Promise<boolean> {
    return (await this.#deps.mailboxes.listOfMailbox(address)).some(({ id }) => id !== account)
  }

  /** `waiting`: the account is disabled, and deleted once the payment provider has ended its renewal. @throws TooManyAttempts, LastOwnerError */
  async deleteAccount(
    session: CurrentSession,
    evidence: Evidence,
    client: ClientInfo,
  ): Promise<'deleted' | 'waiting' | Exclude<EvidenceVerdict, 'proven'>> {
    const verdict = await this.#checkEvidence(session, evidence, client, 'account deletion')
    if (verdict !== 'proven') return verdict
    return this.#deps.deletions.delete(session.account, { reader: client.reader, client })
  }

  /** What `#checkEvidence` will accept from this session. */
  async findRequiredEvidence(session: CurrentSession): Promise<'none' | 'password' | 'code'> {
    if (isFreshSignIn(session, this.#deps.clock.now())) return 'none'
    const record = await this.#deps.store.accounts.findForSignIn(session.account)
    return record?.passwordHash == null ? 'code' : 'password'
  }

  /** A cookie may have been stolen a week ago: changes that could lock the owner out need evidence as fresh as a sign-in. */
  async #checkEvidence(
    session: CurrentSession,
    evidence: Evidence,
    client: ClientInfo,
    action: string,
  ): Promise<EvidenceVerdict> {
    const { store, writeAudit } = this.#deps
    const record = await store.accounts.findForSignIn(session.account)
    const verdict = record === undefined ? 'wrong' : await this.#verifyEvidence(session, evidence, record, client)
    if (verdict === 'wrong') {
      const method = evidence.code === null ? 'password' : 'code'
      await writeAudit('sign_in_failed', session.account, client, { method, at: action })
    }
    return verdict
  }

  async #verifyEvidence(
    session: CurrentSession,
    { currentPassword, code }: Evidence,
    { account, passwordHash }: { readonly account: { readonly email: string | null }; readonly passwordHash: string | null },
    { network }: ClientInfo,
  ): Promise<EvidenceVerdict> {
    const { attemptLimits, passwords, emailVerification, clock } = this.#deps
    const now = clock.now()
    if (currentPassword !== null) {
      await attemptLimits.consume('password-by-device', session.account, now, 'email')
      const { ok } = await passwords
        .verify(currentPassword, passwordHash, { network, isKnownDevice: true })
        .catch(async (error: unknown) => {
          await attemptLimits.restore('password-by-device', session.account)
          throw error
        })
      if (ok) await attemptLimits.restore('password-by-device', session.account)
      return ok ? 'proven' : 'wrong'
    }
    if (code !== null) {
      const verifiedEmail =
        account.email === null
          ? undefined
          : await emailVerification.verifyCode(account.email, code, toSessionBrowserToken(session))
      return verifiedEmail === undefined ? 'wrong' : 'proven'
    }
    if (isFreshSignIn(session, now)) return 'proven'
    return passwordHash === null ? 'missing' : 'wrong'
  }
}

function isFreshSignIn({ method, createdAt }: CurrentSession, now: number): boolean {
  return method !== 'password' && now - createdAt <= freshSignInMs
}

/** Stands in for a browser's token. No browser can send it, so a code of one kind is never valid for the other. */
function toSessionBrowserToken({ id }: Pick<Session, 'id'>): string {
  return `session ${id}`
}

/** The same for the code that proves a new address. */
function toEmailChangeToken({ id }: Pick<Session, 'id'>): string {
  return `session ${id} address`
}
