/**
 * OAuth clients: programs that members allow to use the tools. A member's consent is a session of theirs. The client's codes and tokens are
 * records, stored by the hash of a value that only the client has.
 */
import type { Account } from './account.ts'
import type { NewSession, Session } from './session.ts'

/** The kind of record that the service looks up itself. */
export const accessTokenKind = 'AccessToken'
/** The kind of record whose repeated use is tolerated for a short time. */
export const refreshTokenKind = 'RefreshToken'

/** The validated metadata of a client's registration. */
export type OAuthClientMetadata = Readonly<Record<string, unknown>>

interface NewOAuthClient {
  /** `app_` + 26 characters. */
  readonly id: string
  readonly metadata: OAuthClientMetadata
  readonly createdAt: number
}

export interface OAuthRecord {
  /** The protocol artefact: a code, an access token, a refresh token, or an authorization request that waits for its member. */
  readonly kind: string
  readonly hash: Uint8Array
  /** The session that it belongs to and ends with; null before there is one. */
  readonly session: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
}

export interface OAuthClients {
  /** False if there are `maxClients` already and all have a live consent. The oldest client without one makes room. */
  register(client: NewOAuthClient, maxClients: number): Promise<boolean>
  find(id: string): Promise<OAuthClientMetadata | undefined>
  /**
   * Creates the session of a consent, as `Sessions.create` does. Clients with a live consent are never evicted, so the number of consents of
   * one account must be bounded.
   */
  createConsent(session: NewSession & { readonly app: string }): Promise<boolean>
  /** Whether the account has a live consent for the client. */
  hasConsent(account: string, client: string, now: number): Promise<boolean>
  /** A live consent. */
  findConsent(session: string): Promise<Session | undefined>
  /** Writes a record, replacing the one with the same hash. */
  saveRecord(record: OAuthRecord): Promise<void>
  /** Issues the access token of a consent in place of the previous one and extends the consent. False if it has ended. */
  issueAccessToken(token: OAuthRecord & { readonly session: string }, usedAt: number, expiresAt: number): Promise<boolean>
  findRecord(kind: string, hash: Uint8Array): Promise<(OAuthRecord & { readonly consumedAt: number | null }) | undefined>
  /** True for exactly one of several callers. */
  consumeRecord(kind: string, hash: Uint8Array, now: number): Promise<boolean>
  /**
   * Uses a refresh token. True for its first use, and within `graceMs` of it if no token that it was exchanged for has been used: the answer was
   * lost, and the client asks again. False where a token of the same generation or a later one has been used: one of the two holders stole it.
   */
  useRefreshToken(hash: Uint8Array, now: number, graceMs: number): Promise<boolean>
  deleteRecord(kind: string, hash: Uint8Array): Promise<void>
  deleteRecordsOfSession(kind: string, session: string): Promise<void>
  /** The owner of an access token, whatever their state; the caller checks it. */
  findTokenOwner(
    kind: string,
    hash: Uint8Array,
  ): Promise<{ readonly session: Session; readonly account: Account; readonly expiresAt: number } | undefined>
  /** Deletes what ended before `now`, and clients without a consent since `unapproved` or without use since `unused`. */
  sweep(now: number, before: { readonly unapproved: number; readonly unused: number }, limit: number): Promise<void>
}
