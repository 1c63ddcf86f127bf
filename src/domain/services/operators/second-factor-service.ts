/**
 * The second factor of operators: codes of an authenticator (TOTP, RFC 6238), ten recovery codes, and passkeys.
 *
 * The bound on guessing: `second-factor-by-account` allows five wrong codes in any hour, of either kind, from any number of clients, and only
 * from a session of the member. Three codes of a million are right at a time, so a year of guessing succeeds with a chance of 12 %, and every
 * wrong code is in the audit log. A right code does not count. Each step of 30 s is accepted once, and none before it. Refused answers of
 * passkeys count with them.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import type { AuditWriter } from '../../identity/audit.ts'
import type { AttemptLimits } from '../../identity/limits/attempt-limits.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { OneTimePasswords, SetupKey } from '../../identity/operators/one-time-passwords.ts'
import type { PasskeyRefusal } from '../../identity/operators/passkeys.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'
import type { PasskeyService } from './passkey-service.ts'

interface SecondFactorDeps {
  readonly store: Pick<Store, 'operators'>
  readonly oneTimePasswords: OneTimePasswords
  readonly passkeys: Pick<PasskeyService, 'verify'>
  readonly attemptLimits: AttemptLimits
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  /** The installation's secret. */
  readonly secret: Uint8Array
}

const recoveryCodes = 10
/** Without letters that look like others. 50 bits a code. */
const recoveryAlphabet = '23456789abcdefghjkmnpqrstuvwxyz'
const recoveryLength = 10

export type SecondFactorMethod = 'code' | 'recovery_code' | 'passkey'

export type SecondFactorProof =
  | { readonly kind: 'code'; readonly code: string }
  /** The answer of a browser, as JSON. */
  | { readonly kind: 'passkey'; readonly answer: string }

/** Where a proof is given: for a challenge of the member's session, or of the console's. */
export type SecondFactorPlace = { readonly session: string; readonly purpose: 'sign_in' | 'step_up' }

export type SecondFactorRefusal = 'code' | PasskeyRefusal

export type SecondFactorResult =
  | { readonly kind: 'proven'; readonly method: SecondFactorMethod }
  | { readonly kind: 'refused'; readonly why: SecondFactorRefusal }

export class SecondFactorService {
  readonly #deps: SecondFactorDeps
  readonly #recoveryKey: Buffer

  constructor(deps: SecondFactorDeps) {
    this.#deps = deps
    this.#recoveryKey = Buffer.from(hkdfSync('sha256', deps.secret, '', 'recovery codes', 32))
  }

  /** `pending`: an authenticator was shown the secret, and no code has come yet. */
  async findState(account: string): Promise<'none' | 'pending' | 'confirmed'> {
    const factor = await this.#deps.store.operators.findSecondFactor(account)
    return factor === undefined ? 'none' : factor.confirmedAt === null ? 'pending' : 'confirmed'
  }

  /** A new secret for the authenticator, in place of one that was not confirmed. Undefined where one is confirmed. */
  async begin(account: string, label: string): Promise<SetupKey | undefined> {
    const { store, oneTimePasswords } = this.#deps
    const secret = oneTimePasswords.createSecret()
    const isNew = await store.operators.beginSecondFactor(account, oneTimePasswords.encrypt(secret))
    return isNew ? oneTimePasswords.describe(secret, label) : undefined
  }

  /** The secret that is not confirmed yet. */
  async findPending(account: string, label: string): Promise<SetupKey | undefined> {
    const { store, oneTimePasswords } = this.#deps
    const factor = await store.operators.findSecondFactor(account)
    const secret = factor?.confirmedAt === null ? oneTimePasswords.decrypt(factor.secret) : undefined
    return secret && oneTimePasswords.describe(secret, label)
  }

  /** Returns the recovery codes, which are shown once; undefined for a wrong code. @throws TooManyAttempts */
  async confirm(account: string, code: string, client: ClientInfo): Promise<readonly string[] | undefined> {
    const { store, writeAudit, clock } = this.#deps
    let step: number | undefined
    await this.#guess(account, client, async () => {
      step = await this.#findStep(account, code, 'pending')
      return step === undefined ? refuse('code') : { kind: 'proven', method: 'code' }
    })
    if (step === undefined) return undefined
    const codes = this.#createRecoveryCodes()
    const recoveryHashes = codes.map((each) => this.#hashRecoveryCode(account, each))
    if (!(await store.operators.confirmSecondFactor(account, { step, recoveryHashes, at: clock.now() }))) return undefined
    await writeAudit('second_factor_set', account, client, { method: 'totp' })
    return codes
  }

  /** A proof is good once. @throws TooManyAttempts */
  async verify(
    account: string,
    proof: SecondFactorProof,
    place: SecondFactorPlace,
    client: ClientInfo,
  ): Promise<SecondFactorResult> {
    const { store, passkeys, writeAudit } = this.#deps
    const result = await this.#guess(account, client, async () => {
      if (proof.kind === 'code') return this.#checkCode(account, proof.code)
      const why = await passkeys.verify(account, place, proof.answer)
      return why === null ? { kind: 'proven', method: 'passkey' } : refuse(why)
    })
    if (result.kind === 'proven' && result.method === 'recovery_code') {
      const remainingCodes = await store.operators.countRecoveryCodes(account)
      await writeAudit('recovery_code_used', account, client, { left: remainingCodes })
    }
    return result
  }

  async #checkCode(account: string, code: string): Promise<SecondFactorResult> {
    const { store, clock } = this.#deps
    if (/^\d{6}$/.test(code)) {
      const step = await this.#findStep(account, code, 'confirmed')
      const isRight = step !== undefined && (await store.operators.useStep(account, step))
      return isRight ? { kind: 'proven', method: 'code' } : refuse('code')
    }
    const isRight = await store.operators.useRecoveryCode(account, this.#hashRecoveryCode(account, code), clock.now())
    return isRight ? { kind: 'proven', method: 'recovery_code' } : refuse('code')
  }

  countRecoveryCodes(account: string): Promise<number> {
    return this.#deps.store.operators.countRecoveryCodes(account)
  }

  /** New codes in place of all earlier ones, shown once. */
  async renewRecoveryCodes(account: string, author: OperatorAuthor): Promise<readonly string[]> {
    const { store, writeAudit } = this.#deps
    const codes = this.#createRecoveryCodes()
    await store.operators.replaceRecoveryCodes(
      account,
      codes.map((each) => this.#hashRecoveryCode(account, each)),
    )
    await writeAudit('recovery_codes_made', account, author.client, { codes: codes.length }, toAuditAuthor(author))
    return codes
  }

  async #findStep(account: string, code: string, state: 'pending' | 'confirmed'): Promise<number | undefined> {
    const { store, oneTimePasswords, clock } = this.#deps
    const factor = await store.operators.findSecondFactor(account)
    if (factor === undefined || (factor.confirmedAt === null) !== (state === 'pending')) return undefined
    const secret = oneTimePasswords.decrypt(factor.secret)
    return secret && oneTimePasswords.findStep(secret, code, clock.now())
  }

  /** Counts the guess before it is checked, so that concurrent ones cannot exceed the limit, and uncounts a right one. */
  async #guess(account: string, client: ClientInfo, check: () => Promise<SecondFactorResult>): Promise<SecondFactorResult> {
    const { attemptLimits, writeAudit, clock } = this.#deps
    await attemptLimits.consume('second-factor-by-account', account, clock.now())
    const result = await check()
    if (result.kind === 'proven') await attemptLimits.restore('second-factor-by-account', account)
    else await writeAudit('second_factor_failed', account, client, { why: result.why })
    return result
  }

  #createRecoveryCodes(): readonly string[] {
    return Array.from({ length: recoveryCodes }, () => {
      let code = ''
      while (code.length < recoveryLength)
        for (const byte of this.#deps.ids.bytes(recoveryLength)) {
          // 248 = 8 × 31: larger bytes would favour the first letters.
          if (byte < 248 && code.length < recoveryLength) code += recoveryAlphabet[byte % recoveryAlphabet.length] ?? ''
        }
      return `${code.slice(0, 5)}-${code.slice(5)}`
    })
  }

  #hashRecoveryCode(account: string, code: string): Buffer {
    const plain = code.toLowerCase().replaceAll(/[\s-]/g, '')
    return createHmac('sha256', this.#recoveryKey).update(`${account} ${plain}`).digest()
  }
}

function refuse(why: SecondFactorRefusal): SecondFactorResult {
  return { kind: 'refused', why }
}
