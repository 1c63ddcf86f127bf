/** The port for the codes of an authenticator (TOTP, RFC 6238): six digits, a new code every 30 s. */

/** What an authenticator needs. */
export interface SetupKey {
  /** `otpauth://totp/…`, for a picture. */
  readonly uri: string
  /** In base32, to type. */
  readonly key: string
}

export interface OneTimePasswords {
  /** 160 bits, as RFC 4226 recommends. */
  createSecret(): Uint8Array
  describe(secret: Uint8Array, label: string): SetupKey
  /** The step whose code this is: the current one, or one before or after, for clocks that differ. Undefined for a wrong code. */
  findStep(secret: Uint8Array, code: string, now: number): number | undefined
  /** A copy of the database alone makes no codes. */
  encrypt(secret: Uint8Array): Uint8Array
  /** Undefined if it was encrypted with the secret of another installation. */
  decrypt(encrypted: Uint8Array): Uint8Array | undefined
}
