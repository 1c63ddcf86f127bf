/**
 * Whose token is this? A short memory in front of the store, keyed by the token's hash, so that a known key costs no query and a
 * dropped cache reveals no token. Revoking anything on this process takes effect at once; on others within a few seconds.
 */
import { LRUCache } from 'lru-cache'
import type { Names } from './brand.ts'
import type { Account } from './membership/account.ts'
import { hashToken, looksLikeApiKey } from './membership/api-key.ts'
import type { Store } from './membership/store.ts'
import type { Clock } from './services.ts'

/** A live credential and its owner. */
export interface Credential {
  /** `session` came by device login, `cookie` from the website's sign-in. */
  readonly kind: 'key' | 'session' | 'cookie' | 'jwt'
  readonly id: string
  readonly account: Account
  readonly expiresAt: number | null
}

type Known = Credential | null

const positiveMs = 30_000
const negativeMs = 5_000
const touchEveryMs = 60_000

export class Credentials {
  readonly #store: Store
  readonly #names: Names
  readonly #clock: Clock
  readonly #known = new LRUCache<string, { readonly value: Known }>({ max: 50_000 })
  /** Apart, so that a flood of wrong tokens pushes no right one out. */
  readonly #unknown = new LRUCache<string, true>({ max: 10_000, ttl: negativeMs })
  readonly #asking = new Map<string, Promise<Known>>()
  /** When each key was last used, written behind; and when it was last written. */
  readonly #uses = new Map<string, number>()

  constructor(store: Store, names: Names, clock: Clock) {
    this.#store = store
    this.#names = names
    this.#clock = clock
  }

  /** The live credential of a bearer token, or null: unknown, revoked, expired, or of an account that may not use the service. */
  async resolve(token: string): Promise<Credential | null> {
    const kind = this.#kindOf(token)
    if (kind === null) return null
    const hash = hashToken(token)
    const cacheKey = hash.toString('latin1')
    const now = this.#clock.now()
    const cached = this.#known.get(cacheKey)
    if (cached !== undefined) return this.#live(cached.value, now)
    if (this.#unknown.has(cacheKey)) return null
    // Many requests with one new token ask the store once.
    let asking = this.#asking.get(cacheKey)
    if (asking === undefined) {
      asking = this.#look(kind, hash, now).finally(() => this.#asking.delete(cacheKey))
      this.#asking.set(cacheKey, asking)
    }
    const found = await asking
    if (found === null) this.#unknown.set(cacheKey, true)
    else this.#known.set(cacheKey, { value: found }, { ttl: positiveMs })
    return this.#live(found, now)
  }

  /** Forgets what is known of an account: its keys, sessions or plan have changed. */
  forgetAccount(account: string): void {
    for (const [key, { value }] of this.#known.entries()) if (value?.account.id === account) this.#known.delete(key)
  }

  /** Forgets everything; another process has changed something. */
  forgetAll(): void {
    this.#known.clear()
    this.#unknown.clear()
  }

  /** Writes down when keys were last used. Called now and then, and at the end. */
  async flushUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = new Map(this.#uses)
    this.#uses.clear()
    await this.#store.keys.touch(uses)
  }

  #kindOf(token: string): 'key' | 'session' | null {
    if (looksLikeApiKey(token, this.#names.keyPrefix)) return 'key'
    const session = token.startsWith(this.#names.sessionPrefix) && token.length === this.#names.sessionPrefix.length + 43
    return session ? 'session' : null
  }

  async #look(kind: 'key' | 'session', hash: Buffer, now: number): Promise<Known> {
    if (kind === 'session') return null
    const found = await this.#store.keys.findByHash(hash)
    if (found === undefined || found.key.revokedAt !== null || found.account.status !== 'active') return null
    if (found.key.expiresAt !== null && found.key.expiresAt <= now) return null
    return { kind, id: found.key.id, account: found.account, expiresAt: found.key.expiresAt }
  }

  #live(found: Known, now: number): Credential | null {
    if (found === null || (found.expiresAt !== null && found.expiresAt <= now)) return null
    if (found.kind === 'key' && now - (this.#uses.get(found.id) ?? 0) > touchEveryMs) this.#uses.set(found.id, now)
    return found
  }
}
