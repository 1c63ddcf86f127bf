/**
 * Signing in: by the code or link of an email, or by password.
 *
 * No answer reveals whether an address has an account: known and unknown addresses take the same path, the same time, and get the same
 * answer.
 *
 * The bound on guessing. There are two things to guess, a password and a six-digit code, and two kinds of browsers to guess from, strangers
 * and known devices (`known-device.ts`). For each of the four pairs an account allows five guesses in any hour, from any number of clients:
 *
 *   5 `password-by-address` + 5 `password-by-device` + 5 `code-tries` of strangers + 5 `code-tries` of known devices = 20 an hour.
 *
 * A client that has never signed in to the account has 10 of them. A password asked for again within a session, and a code that confirms a
 * change (`account-service.ts`), count with the known devices'. All addresses of one mailbox (`toMailbox`) count together. A right guess does
 * not count.
 *
 * An attacker who wants to lock an owner out can use up the strangers' guesses and emails, but neither those of a known device nor the
 * links: the emails that were used up lie in the owner's mailbox, and each link works (`email-send-limits.ts`).
 */
import { createHash } from 'node:crypto'
import type { SignInRecord } from '../../identity/account.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { AttemptLimitName, AttemptLimits } from '../../identity/limits/attempt-limits.ts'
import { isKnownDevice } from '../../identity/known-device.ts'
import type { EmailVerificationService, VerifiedEmail } from './email-verification-service.ts'
import type { EmailRules } from '../../identity/email/email-address.ts'
import { anyEmailDomain, parseEmail } from '../../identity/email/email-address.ts'
import type { MemberMailer } from '../../member-mailer.ts'
import type { PasswordVerdict } from '../../identity/passwords/password.ts'
import { checkPassword } from '../../identity/passwords/password.ts'
import type { HashClient, PasswordHasher } from '../../identity/passwords/password-hasher.ts'
import type { OpenedSession, SessionService } from './session-service.ts'
import type { ResolvedAccount, SignUpRefused, SignUpService } from './sign-up-service.ts'
import type { SessionMethod } from '../../identity/session.ts'
import type { Store } from '../../store.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { Mailboxes } from '../mailboxes.ts'

export interface SignInDeps {
  readonly store: Pick<Store, 'accounts' | 'accountDeletions' | 'sessions'>
  readonly signUp: SignUpService
  readonly sessions: SessionService
  readonly attemptLimits: AttemptLimits
  readonly passwords: PasswordHasher
  readonly emailVerification: EmailVerificationService
  readonly mailer: MemberMailer
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  /** The installation's secret. */
  readonly secret: Uint8Array
  readonly rules: EmailRules
  readonly mailboxes: Mailboxes
  /** Called when an account's credentials changed, so that cached copies are dropped. */
  readonly onCredentialsChanged: (account: string) => void
}

/** A request for a sign-in email. */
interface SignInCodeRequest {
  readonly email: string
  /** The token that the browser keeps. */
  readonly browser: string
  /** Becomes the password of a new account; a request with one is a sign-up and is refused like one. */
  readonly password?: string | null
  readonly invite?: string | null
}

export type SignInCodeResult =
  /** `isDelayed`: the mail server cannot be reached at present, and the email follows; the same for every address. */
  | { readonly kind: 'sent'; readonly isDelayed: boolean }
  | { readonly kind: 'address'; readonly reason: 'malformed' | 'blocked' }
  | { readonly kind: 'password'; readonly reason: Exclude<PasswordVerdict, 'good'> }
  | SignUpRefused
  /** Addresses without an account get no emails for now; one with an account got its email. The same for both. */
  | { readonly kind: 'new_addresses_paused'; readonly retryAfterMs: number }
  /** No email could be queued. */
  | { readonly kind: 'mail_unavailable'; readonly retryAfterMs: number }

/** When to retry while the email queue is full: a few hundred emails may have been sent by then. */
export const mailRetryAfterMs = 60_000

/** `isNewAccount` and `invited` are false but for an account that was just created. */
interface SignedIn extends OpenedSession, Pick<ResolvedAccount, 'isNewAccount' | 'invited'> {
  readonly kind: 'signed-in'
}

/** `deletion_waiting`: the account of a proven address, which waits to be deleted. */
export type SignInResult = SignedIn | { readonly kind: 'wrong' } | { readonly kind: 'deletion_waiting' } | SignUpRefused

export class SignInService {
  readonly #deps: SignInDeps

  constructor(deps: SignInDeps) {
    this.#deps = deps
  }

  /** Sends an email that signs in, and creates the account if there is none. @throws TooManyAttempts */
  async requestCode(
    { email, browser, password = null, invite = null }: SignInCodeRequest,
    client: ClientInfo,
  ): Promise<SignInCodeResult> {
    const { attemptLimits, emailVerification, mailer, signUp, clock, rules, mailboxes } = this.#deps
    const now = clock.now()
    const verdict = parseEmail(email, rules)
    if (verdict.kind !== 'good') return { kind: 'address', reason: verdict.kind }
    const { email: address } = verdict
    const account = await signUp.findAccount(address)
    const signUpRefusal = await signUp.checkRefusal(address, invite)
    if (password !== null) {
      const passwordVerdict = checkPassword(password, address)
      if (passwordVerdict !== 'good') return { kind: 'password', reason: passwordVerdict }
      // Existing members get the same answer: they do not come in by signing up.
      if (signUpRefusal !== null) return { kind: 'no-sign-up', reason: signUpRefusal }
    }
    const isKnownDevice = account !== undefined && this.#isKnownDevice(client, account.id)
    if (!isKnownDevice) await attemptLimits.consumeForWiderNetworks('code-by-network', client.network, now, 'magic_link')
    const mailbox = mailboxes.toMailbox(address)
    const secrets = await emailVerification
      .issue({ address, mailbox, network: client.network, known: isKnownDevice, passwordHash: null, invite, browser })
      .catch(async (error: unknown) => {
        if (!isKnownDevice) await attemptLimits.restoreForWiderNetworks('code-by-network', client.network)
        throw error
      })
    // An address that may not sign up gets no email, and the answer is the same and takes the same time.
    const mayReceive = account !== undefined || signUpRefusal === null
    const pausedUntil = await this.#useNewAddressBudget(account?.id ?? (mayReceive ? null : mailbox), now)
    // A hash costs more than everything else here, so a refused request gets none.
    if (password !== null && pausedUntil === null)
      await this.#addPassword(secrets.linkToken, password, { network: client.network, isKnownDevice }).catch(
        async (error: unknown) => {
          await emailVerification.discard(secrets.linkToken)
          if (account === undefined) await attemptLimits.restore(newAddressBudget, allNewAddresses)
          if (!isKnownDevice) await attemptLimits.restoreForWiderNetworks('code-by-network', client.network)
          throw error
        },
      )
    const to = mayReceive && (account !== undefined || pausedUntil === null) ? address : null
    const outcome = await mailer.sendSignInCode({ to, isMember: account !== undefined, reader: client.reader }, secrets)
    if (outcome === 'unavailable') return { kind: 'mail_unavailable', retryAfterMs: mailRetryAfterMs }
    // A known device has an account for sure: its answer reveals nothing.
    if (isKnownDevice || (outcome !== 'new_addresses_paused' && pausedUntil === null))
      return { kind: 'sent', isDelayed: outcome === 'delayed' }
    return { kind: 'new_addresses_paused', retryAfterMs: Math.max(mailRetryAfterMs, (pausedUntil ?? now) - now) }
  }

  /** @throws TooManyAttempts */
  async #addPassword(linkToken: string, password: string, client: HashClient): Promise<void> {
    const { passwords, emailVerification } = this.#deps
    await emailVerification.addPassword(linkToken, await passwords.hash(password, client))
  }

  /**
   * Strangers can request emails to any number of addresses from any number of networks. All emails to addresses without an account share one
   * budget, so that a flood of them delays no member's code and the operator's server does not send thousands to strangers. Returns when the
   * budget has room again; null if it has room. `exempt` is the subject of an email that does not count, which takes the same statements.
   */
  async #useNewAddressBudget(exempt: string | null, now: number): Promise<number | null> {
    const { attemptLimits } = this.#deps
    const pausedUntil = await attemptLimits.findFreeAt(newAddressBudget, allNewAddresses, now)
    if (pausedUntil !== null) return pausedUntil
    const subject = exempt === null ? allNewAddresses : `exempt:${hashMailbox(exempt)}`
    const fits = await attemptLimits.tryConsume(newAddressBudget, subject, now)
    return fits || exempt !== null ? null : now
  }

  /** @throws TooManyAttempts */
  async signInWithCode(
    email: string,
    code: string,
    browser: string,
    client: ClientInfo,
    invite: string | null,
  ): Promise<SignInResult> {
    const { attemptLimits, emailVerification, clock, rules } = this.#deps
    const verdict = parseEmail(email, rules)
    const address = verdict.kind === 'good' ? verdict.email : null
    const isKnownDevice = await this.#isKnownDeviceFor(address, client)
    if (!isKnownDevice) await attemptLimits.consumeForNetwork('verify-by-network', client.network, clock.now())
    const verifiedEmail = address === null ? undefined : await emailVerification.verifyCode(address, code, browser)
    if (verifiedEmail === undefined) return this.#recordFailure(address, 'code', client)
    if (!isKnownDevice) await attemptLimits.restoreForNetwork('verify-by-network', client.network)
    return this.#signInVerified(verifiedEmail, invite, client)
  }

  /** The address that a link proves; consumes nothing. */
  async findEmailByMagicLink(linkToken: string): Promise<string | undefined> {
    return this.#deps.emailVerification.findEmailByLink(linkToken)
  }

  /** Counts nothing, because a token of 256 bits cannot be guessed. */
  async signInWithMagicLink(linkToken: string, browser: string | null, client: ClientInfo): Promise<SignInResult> {
    const verifiedEmail = await this.#deps.emailVerification.redeemLink(linkToken, browser)
    return verifiedEmail === undefined
      ? this.#recordFailure(null, 'code', client)
      : this.#signInVerified(verifiedEmail, null, client)
  }

  /** Signs in to the account of a proven address. */
  async #signInVerified(verified: VerifiedEmail, invite: string | null, client: ClientInfo): Promise<SignInResult> {
    const { store, signUp, writeAudit } = this.#deps
    const { address, passwordHash } = verified
    const resolution = await signUp.findOrCreateAccount({ ...verified, invite: invite ?? verified.invite }, client)
    if ('kind' in resolution) return resolution
    const { account, isNewAccount } = resolution
    // The emails that lead to a sign-in do not count: a large site has as many new members an hour as it likes.
    if (isNewAccount) await this.#deps.attemptLimits.restore(newAddressBudget, allNewAddresses)
    await this.#deps.attemptLimits.restoreForWiderNetworks('code-by-network', client.network)
    if (!isNewAccount && (await store.accounts.confirmEmail(account.id))) this.#deps.onCredentialsChanged(account.id)
    const record = await store.accounts.findForSignIn(account.id)
    // The owner of the address has no password yet and requested this one in this browser: now it is set.
    if (!isNewAccount && passwordHash !== null && record?.passwordHash === null) {
      await store.accounts.setPasswordHash(account.id, passwordHash)
      await writeAudit('password_changed', account.id, client, null)
    }
    const openedSession = await this.#deps.sessions.open(account.id, 'code', client)
    if (openedSession === undefined) {
      const refusal = await this.#recordFailure(address, 'code', client)
      return (await store.accountDeletions.find(account.id)) === undefined ? refusal : { kind: 'deletion_waiting' }
    }
    return { ...openedSession, kind: 'signed-in', isNewAccount, invited: resolution.invited }
  }

  /** @throws TooManyAttempts */
  async signInWithPassword(email: string, password: string, client: ClientInfo): Promise<SignInResult> {
    const { store, attemptLimits, passwords, writeAudit, clock, mailboxes } = this.#deps
    const now = clock.now()
    const verdict = parseEmail(email, anyEmailDomain)
    const address = verdict.kind === 'good' ? verdict.email : null
    const record = address === null ? undefined : await this.#findSignInRecord(address)
    const isKnownDevice = record !== undefined && this.#isKnownDevice(client, record.account.id)
    const limitAndSubject: [AttemptLimitName, string] = isKnownDevice
      ? ['password-by-device', record.account.id]
      : ['password-by-address', hashMailbox(mailboxes.toMailbox((address ?? email).toLowerCase()))]
    if (!isKnownDevice) await attemptLimits.consumeForNetwork('password-by-network', client.network, now, 'email')
    await attemptLimits.consume(...limitAndSubject, now, 'email')
    const usable = record !== undefined && record.account.status === 'active' && record.emailVerified
    const hashClient = { network: client.network, isKnownDevice }
    const restoreAttempt = async (): Promise<void> => {
      await attemptLimits.restore(...limitAndSubject)
      if (!isKnownDevice) await attemptLimits.restoreForNetwork('password-by-network', client.network)
    }
    const { ok, rehash } = await passwords
      .verify(password, usable ? record.passwordHash : null, hashClient)
      .catch(async (error: unknown) => {
        // Nothing was guessed.
        await restoreAttempt()
        throw error
      })
    if (!usable || !ok) return this.#recordFailure(address, 'password', client)
    const openedSession = await this.#deps.sessions.open(record.account.id, 'password', client)
    if (openedSession === undefined) return this.#recordFailure(address, 'password', client)
    // A concurrent password change ended every other session before this session existed, so it is checked again.
    const latest = await store.accounts.findForSignIn(record.account.id)
    const isChanged = latest?.passwordHash !== record.passwordHash
    if (isChanged && !(await passwords.verify(password, latest?.passwordHash ?? null, hashClient)).ok) {
      await store.sessions.end(record.account.id, openedSession.session.id)
      await writeAudit('session_ended', record.account.id, client, { session: openedSession.session.id })
      return this.#recordFailure(address, 'password', client)
    }
    await restoreAttempt()
    if (rehash && !isChanged) await store.accounts.setPasswordHash(record.account.id, await passwords.hash(password, hashClient))
    return { ...openedSession, kind: 'signed-in', isNewAccount: false, invited: false }
  }

  async #findSignInRecord(address: string): Promise<SignInRecord | undefined> {
    const account = await this.#deps.signUp.findAccount(address)
    return account && this.#deps.store.accounts.findForSignIn(account.id)
  }

  async #isKnownDeviceFor(address: string | null, client: ClientInfo): Promise<boolean> {
    // Most clients have never signed in to anything: skip the look-up.
    if (address === null || client.deviceTokens === null) return false
    const account = await this.#deps.signUp.findAccount(address)
    return account !== undefined && this.#isKnownDevice(client, account.id)
  }

  #isKnownDevice({ deviceTokens }: ClientInfo, account: string): boolean {
    return isKnownDevice(this.#deps.secret, deviceTokens, account)
  }

  /** Writes one record whether or not the account exists: the write must not reveal it. */
  async #recordFailure(address: string | null, method: SessionMethod, client: ClientInfo): Promise<{ readonly kind: 'wrong' }> {
    const account = address === null ? undefined : await this.#deps.signUp.findAccount(address)
    await this.#deps.writeAudit('sign_in_failed', account?.id ?? null, client, { method })
    return { kind: 'wrong' }
  }
}

const newAddressBudget = 'code-to-new-addresses'
const allNewAddresses = 'all'

/** Counters exist for strangers' addresses too, so they are stored as hashes. */
function hashMailbox(mailbox: string): string {
  return createHash('sha256').update(mailbox).digest('base64url').slice(0, 22)
}
