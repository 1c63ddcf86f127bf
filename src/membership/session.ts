/**
 * Sessions: the website's (a cookie), the command line's (a Bearer token), and those of programs that a member let in (`app.ts`). All are
 * random tokens of which only the hash is kept.
 */
import type { Account } from './account.ts'

export type SessionKind = 'web' | 'cli' | 'app'

/** How the person proved who they are. */
export type SessionMethod = 'code' | 'password' | 'provider' | 'device' | 'consent'

export interface Session {
  /** `ses_` + 26 characters. */
  readonly id: string
  readonly account: string
  readonly kind: SessionKind
  readonly method: SessionMethod
  /** What signed in, as the person would recognise it: a browser's or a program's name. */
  readonly client: string | null
  /** The program it was approved for, of kind `app`. */
  readonly app?: string
  /** Masked. */
  readonly address: string | null
  readonly createdAt: number
  readonly lastUsedAt: number
  /** The end whatever happens. */
  readonly expiresAt: number
}

export interface NewSession extends Omit<Session, 'lastUsedAt'> {
  readonly hash: Uint8Array
}

export interface Sessions {
  /** False when the account may not have one: it is disabled or gone. */
  create(session: NewSession): Promise<boolean>
  /** The session with its owner, whatever their state; the caller judges. */
  findByHash(hash: Uint8Array): Promise<{ readonly session: Session; readonly account: Account } | undefined>
  /** Newest first. */
  list(account: string): Promise<readonly Session[]>
  /** False when the account has no such session. */
  end(account: string, id: string): Promise<boolean>
  /** Ends all but `keep`, and what a device may fetch but has not; returns how many sessions. */
  endOthers(account: string, keep: string | null): Promise<number>
  /** Gives a session another token; the old one is worth nothing from then on. */
  renew(id: string, hash: Uint8Array): Promise<boolean>
  /** Records when sessions were last used; many at once, because it is written behind. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>
  /** Deletes those that ended before `at`, at most `limit`; returns how many. */
  sweep(at: number, limit: number): Promise<number>
}

const dayMs = 86_400_000

/** A session ends when it has not been used for `idleMs`, and after `absoluteMs` in any case. */
export const lifetimes = {
  web: { idleMs: 7 * dayMs, absoluteMs: 30 * dayMs },
  cli: { idleMs: 30 * dayMs, absoluteMs: 90 * dayMs },
  app: { idleMs: 30 * dayMs, absoluteMs: 90 * dayMs },
} as const satisfies Record<SessionKind, { readonly idleMs: number; readonly absoluteMs: number }>

/** When a session ends if nobody uses it again. */
export function endOf({ kind, lastUsedAt, expiresAt }: Pick<Session, 'kind' | 'lastUsedAt' | 'expiresAt'>): number {
  return Math.min(expiresAt, lastUsedAt + lifetimes[kind].idleMs)
}

/** 256 bits as 43 letters: what a cookie or a link holds, and what follows the prefix of a session's. */
export function mintToken(random: (size: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString('base64url')
}

export function looksLikeToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}
