/**
 * Sessions: of the website (a cookie), of the command line (a Bearer token), and of OAuth clients (`oauth-client.ts`). All are random tokens
 * of which only the hash is stored.
 */
import type { Account } from './account.ts'

export type SessionKind = 'web' | 'cli' | 'app'

/** How the person authenticated. */
export type SessionMethod = 'code' | 'password' | 'provider' | 'device' | 'consent'

export interface Session {
  /** `ses_` + 26 characters. */
  readonly id: string
  readonly account: string
  readonly kind: SessionKind
  readonly method: SessionMethod
  /** The browser or program as the person would recognise it. */
  readonly client: string | null
  /** The OAuth client of a session of kind `app`. */
  readonly app?: string
  /** Masked. */
  readonly address: string | null
  readonly createdAt: number
  readonly lastUsedAt: number
  /** The latest possible end. */
  readonly expiresAt: number
}

export interface NewSession extends Omit<Session, 'lastUsedAt'> {
  readonly hash: Uint8Array
}

export interface Sessions {
  /**
   * False if the account may not have one, because it is disabled or deleted, or if the token has a session already. Of more sessions of the kind than `maxSessionsPerAccount`, the ones that
   * were not used for the longest time end.
   */
  create(session: NewSession): Promise<boolean>
  /** The session with its owner, whatever their state; the caller checks both. */
  findByHash(hash: Uint8Array): Promise<{ readonly session: Session; readonly account: Account } | undefined>
  /** Newest first. */
  list(account: string): Promise<readonly Session[]>
  /** False if the account has no such session. */
  end(account: string, id: string): Promise<boolean>
  /** Ends all sessions but `keptId`, and approved device logins that were not redeemed; returns how many sessions. */
  endOthers(account: string, keptId: string | null): Promise<number>
  /** Gives a session another token and invalidates the old one. */
  renew(id: string, hash: Uint8Array): Promise<boolean>
  /** Records when sessions were last used, in batches, because it is written behind. */
  recordLastUsed(lastUsed: ReadonlyMap<string, number>): Promise<void>
  /** Deletes those that ended before `at`, at most `limit`; returns how many. */
  sweep(at: number, limit: number): Promise<number>
}

const dayMs = 86_400_000

/** A session ends after `idleMs` without use, and after `absoluteMs` in any case. */
export const sessionLifetimes = {
  web: { idleMs: 7 * dayMs, absoluteMs: 30 * dayMs },
  cli: { idleMs: 30 * dayMs, absoluteMs: 90 * dayMs },
  app: { idleMs: 30 * dayMs, absoluteMs: 90 * dayMs },
} as const satisfies Record<SessionKind, { readonly idleMs: number; readonly absoluteMs: number }>

/** A program that signs in for each of its runs must not fill the database, nor the page of sessions. */
export const maxSessionsPerAccount = { web: 100, cli: 100, app: 50 } as const satisfies Record<SessionKind, number>

/** When a session ends if it is not used again. */
export function getSessionExpiry({ kind, lastUsedAt, expiresAt }: Pick<Session, 'kind' | 'lastUsedAt' | 'expiresAt'>): number {
  return Math.min(expiresAt, lastUsedAt + sessionLifetimes[kind].idleMs)
}

/** 256 bits as 43 characters: the value of a cookie or a link, and the part of a session token after its prefix. */
export function mintToken(random: (size: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString('base64url')
}

export function looksLikeToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}
