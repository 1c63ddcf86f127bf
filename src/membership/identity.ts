/** Third-party sign-in: who at which provider is which account, and sign-ins that are under way at a provider. */

export interface Identities {
  /** The account's id. */
  find(provider: string, subject: string): Promise<string | undefined>
  /** False when this person at the provider is linked already. */
  link(provider: string, subject: string, account: string, at: number): Promise<boolean>
}

/** What must be remembered between sending a browser to its provider and its coming back. */
export interface ProviderLogin {
  /** Hash of the token that the browser keeps; the same token is the protocol's `state`. */
  readonly state: Uint8Array
  readonly provider: string
  readonly nonce: string
  /** PKCE. */
  readonly verifier: string
  /** An own path to go to afterwards. */
  readonly next: string
  readonly invite: string | null
  readonly expiresAt: number
}

export interface ProviderLogins {
  put(login: ProviderLogin): Promise<void>
  /** Once: of any number of callers exactly one gets it. */
  take(state: Uint8Array, now: number): Promise<ProviderLogin | undefined>
  sweep(at: number): Promise<void>
}

export const providerLoginLifeMs = 10 * 60_000
