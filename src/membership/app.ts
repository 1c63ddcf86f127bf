/**
 * Programs that members let use the tools (OAuth clients). A member's approval of one is a session of theirs; what the program holds of it
 * are records, each known by the hash of a word that only the program has.
 */
import type { Account } from './account.ts'
import type { NewSession, Session } from './session.ts'

/** The one kind of record that the service itself looks for. */
export const accessTokenKind = 'AccessToken'

/** What a program said of itself when it registered, checked. */
export type AppMetadata = Readonly<Record<string, unknown>>

export interface NewApp {
  /** `app_` + 26 characters. */
  readonly id: string
  readonly metadata: AppMetadata
  readonly createdAt: number
}

export interface AppRecord {
  /** Which of the protocol's words this is: a code, an access token, a refresh token, a request that waits for its member. */
  readonly kind: string
  readonly hash: Uint8Array
  /** The session it belongs to and ends with; null before there is one. */
  readonly session: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
}

export interface Apps {
  /** False where there are `most` already and each is in use. One that was never approved makes room, the oldest first. */
  register(app: NewApp, most: number): Promise<boolean>
  find(id: string): Promise<AppMetadata | undefined>
  /** Makes the session of an approval. False when the account may not have one. */
  approve(session: NewSession & { readonly app: string }): Promise<boolean>
  /** A live approval. */
  approval(session: string): Promise<Session | undefined>
  /** Writes a record, over the one of the same word. */
  keep(record: AppRecord): Promise<void>
  /** Gives an approval its token, in place of any before it, and its whole length of life. False when it has ended. */
  arm(token: AppRecord & { readonly session: string }, usedAt: number, expiresAt: number): Promise<boolean>
  look(kind: string, hash: Uint8Array): Promise<(AppRecord & { readonly consumedAt: number | null }) | undefined>
  /** True for exactly one of any number of callers. */
  consume(kind: string, hash: Uint8Array, now: number): Promise<boolean>
  drop(kind: string, hash: Uint8Array): Promise<void>
  dropOf(kind: string, session: string): Promise<void>
  /** Whose access token this is, whatever their state; the caller judges. */
  owner(
    kind: string,
    hash: Uint8Array,
  ): Promise<{ readonly session: Session; readonly account: Account; readonly expiresAt: number } | undefined>
  /** Deletes what ended before `now`, and programs that nobody has approved since `unapproved` or used since `unused`. */
  sweep(now: number, before: { readonly unapproved: number; readonly unused: number }, limit: number): Promise<void>
}
