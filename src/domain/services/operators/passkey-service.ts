/**
 * Passkeys of operators: added in the console after a fresh proof, and then a second factor as good as a code. The authenticator stays beside
 * them, so an operator without passkeys is not locked out. They stay when a role is taken, as the authenticator does: they prove who someone
 * is, not what they may do.
 */
import type { AuditWriter } from '../../identity/audit.ts'
import type { AttemptLimits } from '../../identity/limits/attempt-limits.ts'
import type {
  Passkey,
  PasskeyChallengeOwner,
  PasskeyOptions,
  PasskeyProtocol,
  PasskeyRefusal,
} from '../../identity/operators/passkeys.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface PasskeyDeps {
  readonly store: Pick<Store, 'operators'>
  readonly passkeyProtocol: PasskeyProtocol
  readonly attemptLimits: AttemptLimits
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
}

export type PasskeyAddition = 'added' | 'known' | 'too_many' | PasskeyRefusal

export const maxPasskeys = 20
export const maxPasskeyNameChars = 64
const challengeMs = 5 * 60_000

export class PasskeyService {
  readonly #deps: PasskeyDeps

  constructor(deps: PasskeyDeps) {
    this.#deps = deps
  }

  /** Whether browsers allow passkeys at the service's address. */
  isAvailable(): boolean {
    return this.#deps.passkeyProtocol.isAvailable()
  }

  list(account: string): Promise<readonly Passkey[]> {
    return this.#deps.store.operators.listPasskeys(account)
  }

  /** Whether the account can prove itself by one. */
  async isOffered(account: string): Promise<boolean> {
    return this.isAvailable() && (await this.list(account)).length > 0
  }

  /** What the browser shows its authenticator, with a challenge that is good once, for five minutes. @throws TooManyAttempts */
  async begin(account: { readonly id: string; readonly label: string }, owner: PasskeyChallengeOwner): Promise<PasskeyOptions> {
    const { store, passkeyProtocol: protocol, attemptLimits, clock } = this.#deps
    const at = clock.now()
    await attemptLimits.consume('form-by-account', account.id, at)
    const challenge = protocol.createChallenge()
    await store.operators.beginPasskeyChallenge(owner, challenge, at + challengeMs)
    const passkeys = await this.list(account.id)
    return owner.purpose === 'register'
      ? protocol.describeRegistration(account, challenge, passkeys)
      : protocol.describeAuthentication(challenge, passkeys)
  }

  async add(
    account: string,
    { session, name, answer }: { readonly session: string; readonly name: string; readonly answer: string },
    author: OperatorAuthor,
  ): Promise<PasskeyAddition> {
    const { store, passkeyProtocol: protocol, clock, ids } = this.#deps
    const at = clock.now()
    const challenge = await store.operators.takePasskeyChallenge({ session, purpose: 'register' }, at)
    if (challenge === undefined) return 'challenge'
    const registration = await protocol.verifyRegistration(answer, challenge)
    if (registration.kind === 'refused') return registration.why
    const { credential, publicKey, counter, transports } = registration
    const id = ids.next('psk_', at)
    const passkey = { id, account, name, credential, publicKey, counter, transports, createdAt: at }
    const result = await store.operators.addPasskey(passkey, maxPasskeys)
    if (result === 'no_second_factor') return 'credential'
    if (result === 'added') await this.#record('passkey_added', account, { passkey: id, name }, author)
    return result
  }

  /** False if the account has no such passkey. */
  async remove(account: string, id: string, author: OperatorAuthor): Promise<boolean> {
    const name = await this.#deps.store.operators.removePasskey(account, id)
    if (name === undefined) return false
    await this.#record('passkey_removed', account, { passkey: id, name }, author)
    return true
  }

  #record(
    event: 'passkey_added' | 'passkey_removed',
    account: string,
    detail: Readonly<Record<'passkey' | 'name', string>>,
    author: OperatorAuthor,
  ): Promise<void> {
    return this.#deps.writeAudit(event, account, author.client, detail, toAuditAuthor(author))
  }

  /** Null if the answer proves the account. The challenge is used up in any case. */
  async verify(account: string, owner: PasskeyChallengeOwner, answer: string): Promise<PasskeyRefusal | null> {
    const { store, passkeyProtocol: protocol, clock } = this.#deps
    const at = clock.now()
    const challenge = await store.operators.takePasskeyChallenge(owner, at)
    if (challenge === undefined) return 'challenge'
    const result = await protocol.verifyAuthentication(answer, challenge, await this.list(account))
    if (result.kind === 'refused') return result.why
    const { passkey, counter } = result
    // Removed meanwhile, or used with this counter by another answer.
    return (await store.operators.recordPasskeyUse(passkey.id, { counter, at })) ? null : 'credential'
  }
}
