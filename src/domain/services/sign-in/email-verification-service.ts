/** Creates the codes and links of verification emails and checks them when they come back. */
import { hashToken } from '../../identity/api-key.ts'
import type { AttemptLimitTable } from '../../identity/limits/attempt-limits.ts'
import { checkSendLimit, getSendLimitLookbackMs, getMagicLinkLifetimeMs } from '../../identity/limits/email-send-limits.ts'
import { hashEmailCode, mintEmailCode, isSameHash } from '../../identity/email/email-otp.ts'
import type { NewEmailVerification } from '../../identity/email/email-otp.ts'
import { TooManyAttempts } from '../../identity/limits/attempt-limits.ts'
import { looksLikeToken, mintToken } from '../../identity/session.ts'
import type { Store } from '../../store.ts'

interface EmailVerificationDeps {
  readonly store: Pick<Store, 'emailVerifications'>
  readonly table: AttemptLimitTable
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
}

/** The purpose of an email, before its secrets exist. */
type EmailVerificationRequest = Pick<
  NewEmailVerification,
  'address' | 'mailbox' | 'network' | 'known' | 'passwordHash' | 'invite'
> & {
  /** The token that the requesting browser keeps. */
  readonly browser: string
}

/** The secrets to be put into the email. */
export interface EmailVerificationSecrets {
  /** Null if no code may be guessed now: then the email contains only the link. */
  readonly code: string | null
  readonly linkToken: string
}

/** The facts that a code or link proves. */
export type VerifiedEmail = Pick<NewEmailVerification, 'address' | 'passwordHash' | 'invite'>

export class EmailVerificationService {
  readonly #deps: EmailVerificationDeps

  constructor(deps: EmailVerificationDeps) {
    this.#deps = deps
  }

  /** @throws TooManyAttempts */
  async issue(request: EmailVerificationRequest): Promise<EmailVerificationSecrets> {
    const { store, table, clock, ids, secret } = this.#deps
    const at = clock.now()
    const code = mintEmailCode((size) => ids.bytes(size))
    const linkToken = mintToken((size) => ids.bytes(size))
    const browser = hashToken(request.browser)
    const verification = {
      ...request,
      browser,
      link: hashToken(linkToken),
      codeHash: hashEmailCode(secret, browser, request.address, code),
      at,
    }
    const verdict = await store.emailVerifications.createIfAllowed(verification, at - getSendLimitLookbackMs(table), (recent) =>
      checkSendLimit(verification, recent, table),
    )
    if (verdict.kind === 'wait') throw new TooManyAttempts(verdict.until - at, 'magic_link')
    return { code: verdict.tries > 0 ? code : null, linkToken }
  }

  /** Adds the password of a sign-up to an email that was just issued. */
  async addPassword(linkToken: string, passwordHash: string): Promise<void> {
    await this.#deps.store.emailVerifications.setPasswordHash(hashToken(linkToken), passwordHash)
  }

  /** Undoes `issue` for an email that will not be sent. */
  async discard(linkToken: string): Promise<void> {
    await this.#deps.store.emailVerifications.discard(hashToken(linkToken))
  }

  /** A right code consumes the email; a wrong one an attempt. */
  async verifyCode(address: string, code: string, browserToken: string): Promise<VerifiedEmail | undefined> {
    const { store, clock, secret } = this.#deps
    const browser = hashToken(browserToken)
    const verification = await store.emailVerifications.useCodeAttempt(browser, address, clock.now())
    const codeHash = hashEmailCode(secret, browser, address, code)
    if (verification === undefined || !isSameHash(verification.codeHash, codeHash)) return undefined
    // A concurrent request entered the same right code first: it is valid for one session.
    if (!(await store.emailVerifications.consumeCode(verification.link))) return undefined
    return { address, passwordHash: verification.passwordHash, invite: verification.invite }
  }

  /** The address that a link proves. Consumes nothing, because mail scanners open links too. */
  async findEmailByLink(linkToken: string): Promise<string | undefined> {
    const { store } = this.#deps
    if (!looksLikeToken(linkToken)) return undefined
    return (await store.emailVerifications.findByLink(hashToken(linkToken), this.#getLinkCutoff()))?.address
  }

  /** Consumes the email. A password requested with it counts only in the requesting browser: elsewhere it may be another person's. */
  async redeemLink(linkToken: string, browserToken: string | null): Promise<VerifiedEmail | undefined> {
    const { store } = this.#deps
    if (!looksLikeToken(linkToken)) return undefined
    const verification = await store.emailVerifications.consumeLink(hashToken(linkToken), this.#getLinkCutoff())
    if (verification === undefined) return undefined
    const isSameBrowser = browserToken !== null && isSameHash(hashToken(browserToken), verification.browser)
    return {
      address: verification.address,
      passwordHash: isSameBrowser ? verification.passwordHash : null,
      invite: verification.invite,
    }
  }

  /** Deletes emails that no longer count. */
  async sweep(): Promise<void> {
    const { store, table, clock } = this.#deps
    await store.emailVerifications.sweep(clock.now() - getSendLimitLookbackMs(table))
  }

  #getLinkCutoff(): number {
    return this.#deps.clock.now() - getMagicLinkLifetimeMs(this.#deps.table)
  }
}
