/**
 * The second factor of operators: codes of an authenticator (TOTP, RFC 6238), and ten recovery codes.
 *
 * The bound on guessing: `second-factor-by-account` allows five wrong codes in any hour, of either kind, from any number of clients, and only
 * from a session of the member. Three codes of a million are right at a time, so a year of guessing succeeds with a chance of 12 %, and every
 * wrong code is in the audit log. A right code does not count. Each step of 30 s is accepted once, and none before it.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import type { AuditWriter } from '../../identity/audit.ts'
import type { AttemptLimits } from '../../identity/limits/attempt-limits.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { OneTimePasswords, SetupKey } from '../../identity/operators/one-time-passwords.ts'
import type { Store } from '../../store.ts'

interface SecondFactorDeps {
  readonly store: Pick<Store, 'operators'>
  readonly oneTimePasswords: OneTimePasswords
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

export type SecondFactorMethod = 'code' | 'recovery_code'

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
    const step = await this.#guess(account, client, () => this.#findStep(account, code, 'pending'))
    if (step === undefined) return undefined
    const codes = this.#createRecoveryCodes()
    const recoveryHashes = codes.map((each) => this.#hashRecoveryCode(account, each))
    if (!(await store.operators.confirmSecondFactor(account, { step, recoveryHashes, at: clock.now() }))) return undefined
    await writeAudit('second_factor_set', account, client, { method: 'totp' })
    return codes
  }

  /** How the code proved the second factor; undefined for a wrong code, and one that was used before. @throws TooManyAttempts */
  async verify(account: string, code: string, client: ClientInfo): Promise<SecondFactorMethod | undefined> {
    const { store, writeAudit, clock } = this.#deps
    const method = await this.#guess(account, client, async (): Promise<SecondFactorMethod | undefined> => {
      if (/^\d{6}$/.test(code)) {
        const step = await this.#findStep(account, code, 'confirmed')
        return step !== undefined && (await store.operators.useStep(account, step)) ? 'code' : undefined
      }
      const hash = this.#hashRecoveryCode(account, code)
      return (await store.operators.useRecoveryCode(account, hash, clock.now())) ? 'recovery_code' : undefined
    })
    if (method === 'recovery_code') {
      const left = await store.operators.countRecoveryCodes(account)
      await writeAudit('recovery_code_used', account, client, { left })
    }
    return method
  }

  countRecoveryCodes(account: string): Promise<number> {
    return this.#deps.store.operators.countRecoveryCodes(account)
  }

  /** New codes in place of all earlier ones, shown once. */
  async renewRecoveryCodes(account: string, client: ClientInfo): Promise<readonly string[]> {
    const { store, writeAudit } = this.#deps
    const codes = this.#createRecoveryCodes()
    await store.operators.replaceRecoveryCodes(
      account,
      codes.map((each) => this.#hashRecoveryCode(account, each)),
    )
    await writeAudit('recovery_codes_made', account, client, { codes: codes.length })
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
  async #guess<Proof>(account: string, client: ClientInfo, check: () => Promise<Proof | undefined>): Promise<Proof | undefined> {
    const { attemptLimits, writeAudit, clock } = this.#deps
    await attemptLimits.consume('second-factor-by-account', account, clock.now())
    const proof = await check()
    if (proof === undefined) await writeAudit('second_factor_failed', account, client, null)
    else await attemptLimits.restore('second-factor-by-account', account)
    return proof
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
