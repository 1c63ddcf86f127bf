/**
 * Whose token is this? A memory in front of the store, keyed by the token's hash, so that a known key costs no query and a dropped cache
 * reveals no token. Revoking anything on this process takes effect at once; on others of this machine within a few seconds, because the
 * book of changes is read so often. While it cannot be read the memory is short.
 *
 * Where several nodes share the database, on all of them within a second, whatever becomes of it: what is remembered counts only for as long as
 * the book of changes was read a moment ago. Otherwise the store is asked, and where it does not answer nobody is let in on an old yes.
 */
import { LRUCache } from 'lru-cache'
import type { Names } from '../config/brand.ts'
import { GatewayError } from '../errors.ts'
import type { Account } from '../membership/account.ts'
import { accessTokenKind } from '../membership/app.ts'
import { hashText, looksLikeApiKey } from '../membership/api-key.ts'
import { endOf, looksLikeToken } from '../membership/session.ts'
import type { Store } from '../membership/store.ts'
import type { Clock } from '../system/clock.ts'
import { answered } from './answered.ts'

/** A live credential and its owner. */
export interface Credential {
  /** `session` came by device login, `cookie` from the website's sign-in, `app` by a member's approval, for the tool server alone. */
  readonly kind: 'key' | 'session' | 'cookie' | 'app' | 'jwt'
  readonly id: string
  readonly account: Account
  readonly expiresAt: number | null
}

type Known = Credential | null
interface Remembered {
  readonly value: Credential
  /** By the clock's ticks, when the store was asked. */
  readonly began: number
}
/** A question to the store that is not answered yet. */
interface Asking {
  /** The answer is of that time or later. */
  readonly began: number
  readonly found: Promise<Known>
}

/** What the book of changes says; null: perhaps all of them. */
interface Changed {
  readonly seq: number
  readonly accounts: readonly string[] | null
}
type Kind = 'key' | 'session' | 'cookie' | 'app'

/** Every entry counts one. A cache by size grows with what it holds; with `max` it makes room for all of it at the start. */
const one = (): number => 1
/** So long a yes is believed that the book of changes has not confirmed since. */
const positiveMs = 30_000
/** A key, while the book is read: whoever comes back within it costs no query. A session's end moves with its use, so it is read again. */
const keyMs = 3_600_000
const negativeMs = 5_000
const touchEveryMs = 60_000
const changesAtOnce = 1_000
/** Where nodes share a database: what was read of it is as good as new for so long, and the book of changes has so long to answer. */
const trustMs = 900
const lookMs = 300
/** As long as a failover takes. */
const askMs = 3_000
/** Looking for one account among the remembered costs as much as forgetting all of them a few times. */
const fewAccounts = 20

export class Credentials {
  readonly #store: Store
  readonly #names: Names
  readonly #clock: Clock
  readonly #tellOthers: (account: string) => void
  readonly #known = new LRUCache<string, Remembered>({ maxSize: 50_000, sizeCalculation: one })
  /** Apart, so that a flood of wrong tokens pushes no right one out. */
  readonly #unknown = new LRUCache<string, true>({ maxSize: 10_000, sizeCalculation: one, ttl: negativeMs })
  readonly #asking = new Map<string, Asking>()
  /** How often something was forgotten: an answer from before may not be remembered after. */
  #forgotten = 0
  /** When each key and session was last used, written behind. */
  readonly #keyUses = new Map<string, number>()
  readonly #sessionUses = new Map<string, number>()
  /** How far the book of changes has been read; null before the first look. */
  #seenChange: number | null = null
  readonly #isShared: boolean
  /** When the last look that succeeded began. */
  #lookedAt = -Infinity
  /** Where nodes share a database: whether one has failed since. */
  #hasGap = true
  /** That it could not be read has been said. */
  #isTold = false
  #looking: Promise<unknown> | null = null
  /** When the book of changes last answered, however late. */
  #heardAt: number

  /** `tellOthers`: whoever else remembers accounts has to forget this one, too. */
  constructor(store: Store, names: Names, clock: Clock, tellOthers: (account: string) => void = () => {}) {
    this.#tellOthers = tellOthers
    this.#store = store
    this.#names = names
    this.#clock = clock
    this.#isShared = store.cluster !== null
    this.#heardAt = clock.ticks()
  }

  /**
   * The live credential of a bearer token, or null: unknown, revoked, expired, or of an account that may not use the service. A promise
   * only where the store must be asked: a token that is remembered costs no turn of the event loop.
   */
  resolve(token: string): Known | Promise<Known> {
    const cacheKey = hashText(token)
    const now = this.#clock.now()
    const cached = this.#known.get(cacheKey)
    if (cached !== undefined && this.#isBelieved(cached)) return this.#live(cached.value, now)
    const kind = this.#kindOf(token)
    if (kind === null || this.#unknown.has(cacheKey)) return null
    if (this.#isShared) return this.#askInTime(kind, cacheKey, now)
    return this.#askOnce(kind, cacheKey, now).found.then((found) => this.#live(found, now))
  }

  #isBelieved({ value, began }: Remembered): boolean {
    const now = this.#clock.ticks()
    if (now - began > (value.kind === 'key' ? keyMs : positiveMs)) return false
    return this.#isShared ? this.isCurrent : now - Math.max(began, this.#lookedAt) <= positiveMs
  }

  /** Whether what is remembered of accounts may be believed now. */
  get isCurrent(): boolean {
    return !this.#isShared || this.#clock.ticks() - this.#lookedAt <= trustMs
  }

  /** Where nodes share a database: for how long it has not been heard of. One that is slow is heard of. */
  get silentMs(): number {
    return this.#isShared ? this.#clock.ticks() - this.#heardAt : 0
  }

  /** An answer that was long on its way may be as old as that, and is asked for again. */
  async #askInTime(kind: Kind, cacheKey: string, now: number): Promise<Known> {
    const until = this.#clock.ticks() + askMs
    for (;;) {
      const asking = this.#askOnce(kind, cacheKey, now)
      const found = await answered(asking.found, Math.max(0, until - this.#clock.ticks())).catch((error: unknown) => {
        throw error instanceof GatewayError ? error : new GatewayError('temporarily_unavailable', { retryAfter: 1, cause: error })
      })
      if (this.#clock.ticks() - asking.began <= trustMs) return this.#live(found, now)
    }
  }

  /** Many requests with one new token ask the store once. */
  #askOnce(kind: Kind, cacheKey: string, now: number): Asking {
    const known = this.#asking.get(cacheKey)
    const began = this.#clock.ticks()
    if (known !== undefined && !(this.#isShared && began - known.began > trustMs)) return known
    const found = this.#askStore(kind, cacheKey, now).finally(() => {
      if (this.#asking.get(cacheKey) === asking) this.#asking.delete(cacheKey)
    })
    const asking: Asking = { began, found }
    this.#asking.set(cacheKey, asking)
    return asking
  }

  /** Changes whenever anything is forgotten: who remembers accounts elsewhere forgets them then. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** Forgets what is known of an account: its keys, sessions or plan have changed here. */
  forgetAccount(account: string): void {
    this.heardOf(account)
    this.#tellOthers(account)
  }

  /** They have changed elsewhere. */
  heardOf(account: string): void {
    for (const [key, { value }] of this.#known.entries()) if (value.account.id === account) this.#known.delete(key)
    this.#forgetDoubtful()
  }

  /** Forgets everything; another process has changed something. */
  forgetAll(): void {
    this.#known.clear()
    this.#forgetDoubtful()
  }

  /** What was refused may be let in again now, and what is being looked up may come back as it was before the change. */
  #forgetDoubtful(): void {
    this.#unknown.clear()
    this.#asking.clear()
    this.#forgotten += 1
  }

  async #askStore(kind: Kind, cacheKey: string, now: number): Promise<Known> {
    const forgotten = this.#forgotten
    const began = this.#clock.ticks()
    const found = await this.#look(kind, Buffer.from(cacheKey, 'base64'), now)
    if (forgotten !== this.#forgotten) return found
    if (found === null) this.#unknown.set(cacheKey, true)
    else this.#known.set(cacheKey, { value: found, began })
    return found
  }

  /** Learns what other processes changed since the last look, and forgets those accounts. Called every few seconds; `followEveryMs` says how often. */
  async followChanges(): Promise<void> {
    const began = this.#clock.ticks()
    if (!this.#isShared) {
      const changed = await this.#changes()
      // Of what was changed long ago the book may know no more.
      if (began - this.#lookedAt > positiveMs) this.forgetAll()
      this.#forgetChanged(changed)
      this.#lookedAt = began
      return
    }
    try {
      // One after another: what a look has passed over that came back too late, no other would see.
      if (this.#looking !== null) throw new Error('the book of changes does not answer')
      const looking = this.#changes().finally(() => (this.#looking = null))
      this.#looking = looking
      const changed = await answered(looking, lookMs)
      if (this.#hasGap) this.forgetAll()
      this.#forgetChanged(changed)
      this.#hasGap = false
      this.#isTold = false
      this.#lookedAt = began
    } catch (error) {
      this.#hasGap = true
      // Said once, until it succeeds again.
      const isTold = this.#isTold
      this.#isTold = true
      if (!isTold) throw error
    }
  }

  /** How often to call it. */
  get followEveryMs(): number {
    return this.#isShared ? lookMs : 2_000
  }

  async #changes(): Promise<Changed> {
    const { changes } = this.#store
    // What was remembered before the first look may be older than a change that the look has passed over.
    const changed =
      this.#seenChange === null
        ? { seq: await changes.latest(), accounts: null }
        : await changes.since(this.#seenChange, changesAtOnce)
    this.#heardAt = this.#clock.ticks()
    return changed
  }

  #forgetChanged({ seq, accounts }: Changed): void {
    this.#seenChange = seq
    if (accounts === null || accounts.length > fewAccounts) this.forgetAll()
    else for (const account of accounts) this.heardOf(account)
  }

  /** Writes down when keys and sessions were last used. Called now and then, and at the end. */
  async flushUses(): Promise<void> {
    const keys = new Map(this.#keyUses)
    const sessions = new Map(this.#sessionUses)
    this.#keyUses.clear()
    this.#sessionUses.clear()
    if (keys.size > 0) await this.#store.keys.touch(keys)
    if (sessions.size > 0) await this.#store.sessions.touch(sessions)
  }

  #kindOf(token: string): Kind | null {
    if (looksLikeApiKey(token, this.#names.keyPrefix)) return 'key'
    if (looksLikeToken(token)) return 'cookie'
    const { sessionPrefix, appTokenPrefix } = this.#names
    if (token.startsWith(sessionPrefix) && looksLikeToken(token.slice(sessionPrefix.length))) return 'session'
    return token.startsWith(appTokenPrefix) && looksLikeToken(token.slice(appTokenPrefix.length)) ? 'app' : null
  }

  async #look(kind: Kind, hash: Buffer, now: number): Promise<Known> {
    if (kind === 'key') return this.#lookForKey(hash, now)
    return kind === 'app' ? this.#lookForApp(hash, now) : this.#lookForSession(kind, hash, now)
  }

  async #lookForSession(kind: 'session' | 'cookie', hash: Buffer, now: number): Promise<Known> {
    const found = await this.#store.sessions.findByHash(hash)
    if (found === undefined || found.account.status !== 'active') return null
    if (found.session.kind !== (kind === 'cookie' ? 'web' : 'cli')) return null
    const expiresAt = endOf(found.session)
    return expiresAt <= now ? null : { kind, id: found.session.id, account: found.account, expiresAt }
  }

  async #lookForApp(hash: Buffer, now: number): Promise<Known> {
    const found = await this.#store.apps.owner(accessTokenKind, hash)
    if (found === undefined || found.account.status !== 'active') return null
    const expiresAt = Math.min(found.expiresAt, endOf(found.session))
    return expiresAt <= now ? null : { kind: 'app', id: found.session.id, account: found.account, expiresAt }
  }

  async #lookForKey(hash: Buffer, now: number): Promise<Known> {
    const found = await this.#store.keys.findByHash(hash)
    if (found === undefined || found.key.revokedAt !== null || found.account.status !== 'active') return null
    if (found.key.expiresAt !== null && found.key.expiresAt <= now) return null
    return { kind: 'key', id: found.key.id, account: found.account, expiresAt: found.key.expiresAt }
  }

  #live(found: Known, now: number): Credential | null {
    if (found === null || (found.expiresAt !== null && found.expiresAt <= now)) return null
    const uses = found.kind === 'key' ? this.#keyUses : this.#sessionUses
    if (now - (uses.get(found.id) ?? 0) > touchEveryMs) uses.set(found.id, now)
    return found
  }
}
