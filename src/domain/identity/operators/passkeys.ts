/** Passkeys of operators (WebAuthn), beside the authenticator: what is stored, and the port of the protocol. */

export interface Passkey {
  /** `psk_` + 26 characters. */
  readonly id: string
  readonly account: string
  /** As its owner calls it. */
  readonly name: string
  /** The authenticator's id for it. */
  readonly credential: Uint8Array
  /** In COSE. */
  readonly publicKey: Uint8Array
  /** Of the last use; authenticators that keep none answer 0 always. */
  readonly counter: number
  /** How browsers reach the authenticator: `internal`, `usb`, `hybrid`. */
  readonly transports: readonly string[]
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** What a challenge is for; an answer to one is none to another. */
export const passkeyPurposes = ['sign_in', 'step_up', 'register'] as const
export type PasskeyPurpose = (typeof passkeyPurposes)[number]

/** Whose challenge it is: the member's session for `sign_in`, the console's for the others. */
export interface PasskeyChallengeOwner {
  readonly session: string
  readonly purpose: PasskeyPurpose
}

/** The storage port. */
export interface PasskeyRecords {
  /** Oldest first. */
  listPasskeys(account: string): Promise<readonly Passkey[]>
  /** `no_second_factor`: without a confirmed authenticator an account has no passkeys; `known`: the credential is stored already. */
  addPasskey(passkey: Omit<Passkey, 'lastUsedAt'>, limit: number): Promise<'added' | 'known' | 'too_many' | 'no_second_factor'>
  /** Returns its name; undefined if the account has no such passkey. */
  removePasskey(account: string, id: string): Promise<string | undefined>
  /** Records a use; false if the passkey was removed, or if another use had this counter or a later one. */
  recordPasskeyUse(id: string, use: { readonly counter: number; readonly at: number }): Promise<boolean>
  /** In place of an earlier challenge of this owner. */
  beginPasskeyChallenge(owner: PasskeyChallengeOwner, challenge: Uint8Array, expiresAt: number): Promise<void>
  /** Exactly one of several callers gets it. */
  takePasskeyChallenge(owner: PasskeyChallengeOwner, now: number): Promise<Uint8Array | undefined>
}

/**
 * Why an answer of an authenticator is refused: `challenge`: expired, used or not ours; `credential`: not one of this account;
 * `counter`: it went back, so the passkey may have been copied; `verification`: its owner was not verified; `answer`: anything else.
 */
export const passkeyRefusals = ['challenge', 'credential', 'origin', 'counter', 'verification', 'answer'] as const
export type PasskeyRefusal = (typeof passkeyRefusals)[number]

export interface NewCredential extends Pick<Passkey, 'credential' | 'publicKey' | 'counter' | 'transports'> {
  readonly kind: 'new'
}

export interface Refused {
  readonly kind: 'refused'
  readonly why: PasskeyRefusal
}

/** What a browser shows its authenticator, as JSON. */
export interface PasskeyOptions {
  readonly challenge: string
  readonly [name: string]: unknown
}

/** The port of the protocol. Answers are JSON as browsers write it, and not trusted. */
export interface PasskeyProtocol {
  /** Whether browsers allow passkeys at the service's address: it has a name, and https unless it is this machine. */
  isAvailable(): boolean
  createChallenge(): Uint8Array
  /** For `navigator.credentials.create`. */
  describeRegistration(
    account: { readonly id: string; readonly label: string },
    challenge: Uint8Array,
    known: readonly Passkey[],
  ): Promise<PasskeyOptions>
  verifyRegistration(answer: string, challenge: Uint8Array): Promise<NewCredential | Refused>
  /** For `navigator.credentials.get`. */
  describeAuthentication(challenge: Uint8Array, known: readonly Passkey[]): Promise<PasskeyOptions>
  verifyAuthentication(
    answer: string,
    challenge: Uint8Array,
    known: readonly Passkey[],
  ): Promise<{ readonly kind: 'verified'; readonly passkey: Passkey; readonly counter: number } | Refused>
}
