/** Third-party sign-in: which provider identity belongs to which account, and sign-ins in progress at a provider. */

export interface ProviderIdentities {
  /** The account's id. */
  find(provider: string, subject: string): Promise<string | undefined>
  /**
   * Links an identity to an account, of which each provider has at most one. `known`: this identity is linked, to this account or another.
   * `other_subject`: another subject of the provider is linked to the account. Of concurrent calls for one account one links.
   */
  link(provider: string, subject: string, account: string, at: number): Promise<'linked' | 'known' | 'other_subject'>
  /** Removes the links of a provider, of one account or of all. Returns the accounts that had one. */
  unlink(provider: string, account: string | null): Promise<readonly string[]>
  /** The providers that an account is linked to. */
  listProviders(account: string): Promise<readonly string[]>
  /** Accounts with several identities of one provider, which a version before 0.2 linked; `limit` of them at most. */
  listSeveral(limit: number): Promise<readonly { readonly provider: string; readonly account: string }[]>
}

/** State kept between redirecting a browser to its provider and its return. */
interface ProviderLogin {
  /** Hash of the token that the browser keeps; the same token is the protocol's `state`. */
  readonly state: Uint8Array
  readonly provider: string
  readonly nonce: string
  /** The PKCE verifier. */
  readonly verifier: string
  /** A path of this site to go to afterwards. */
  readonly next: string
  readonly invite: string | null
  readonly expiresAt: number
}

export interface ProviderLogins {
  create(login: ProviderLogin): Promise<void>
  /** Exactly one of several callers gets it. */
  consume(state: Uint8Array, now: number): Promise<ProviderLogin | undefined>
  sweep(at: number): Promise<void>
}

export const providerLoginLifetimeMs = 10 * 60_000
