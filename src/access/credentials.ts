/**
 * Resolves tokens to accounts: a cache in front of the store, keyed by the token's hash, so that a known key costs no query and a leaked
 * cache reveals no token. Revocation takes effect at once in this process, and within a few seconds in others of this machine, which poll the
 * change log. While the change log cannot be read, entries live shorter.
 *
 * If several nodes share the database, revocation takes effect on all of them within a second, in any case: cached entries count only if the
 * change log was read a moment ago. Otherwise the store is queried, and if it does not answer, no token is accepted.
 */
import { LRUCache } from 'lru-cache'
import type { BrandNames } from '../exchange/brand-names.ts'
import { GatewayError } from '../errors.ts'
import type { Credential } from '../exchange/plugins/plugin-services.ts'
import { accessTokenKind } from '../domain/identity/oauth-client.ts'
import { hashTokenToBase64, looksLikeApiKey } from '../domain/identity/api-key.ts'
import { getSessionExpiry, looksLikeToken } from '../domain/identity/session.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../system/clock.ts'

export type { Credential }

type ResolvedCredential = Credential | null
interface CacheEntry {
  readonly value: Credential
  /** When the store was queried, by the monotonic clock. */
  readonly readMs: number
}
/** A running query of the store. */
interface PendingLookup {
  /** The result is from this time or later. */
  readonly startedMs: number
  readonly result: Promise<ResolvedCredential>
}

/** Changed accounts of the change log; null: possibly all. */
interface ChangeBatch {
  readonly seq: number
  readonly accounts: readonly string[] | null
}
type CredentialKind = 'key' | 'session' | 'cookie' | 'app'

/** Every entry counts one. A cache with `maxSize` grows as needed; one with `max` allocates everything at the start. */
const countOne = (): number => 1
/** Lifetime of a positive entry that the change log has not confirmed since. */
const positiveTtlMs = 30_000
/** Lifetime of a key while the change log is read: a key used within it costs no query. Sessions are read again, because use moves their end. */
const keyTtlMs = 3_600_000
const negativeTtlMs = 5_000
const lastUsedIntervalMs = 60_000
const maxChangesPerPoll = 1_000
/** If nodes share a database: how long a read of the change log counts as current, and how long it may take. */
const freshForMs = 900
const pollMs = 300
/** As long as a failover takes. */
const lookupTimeoutMs = 3_000
/** After more changed accounts all entries are dropped: the change log may hold further changes than one poll reads. */
const maxSelectiveInvalidations = 20

export class Credentials {
  readonly #store: Store
  readonly #names: BrandNames
  readonly #clock: Clock
  readonly #onInvalidate: (account: string) => void
  readonly #cache = new LRUCache<string, CacheEntry>({ maxSize: 50_000, sizeCalculation: countOne })
  /** A cache of its own, so that a flood of wrong tokens evicts no right one. */
  readonly #negativeCache: LRUCache<string, true>
  readonly #pendingLookups = new Map<string, PendingLookup>()
  /** Number of invalidations: a result from before one must not be cached after it. */
  #invalidations = 0
  /** When each key and session was last used, written behind. */
  readonly #keysLastUsed = new Map<string, number>()
  readonly #sessionsLastUsed = new Map<string, number>()
  /** The last sequence number read from the change log; null before the first poll. */
  #lastSeq: number | null = null
  readonly #isShared: boolean
  /** When the last successful poll began. */
  #polledMs = -Infinity
  /** If nodes share a database: whether a poll has failed since. */
  #hasGap = true
  /** Whether the failure has been logged. */
  #isFailureReported = false
  #pendingPoll: Promise<unknown> | null = null
  /** When the change log last answered, however late. */
  #respondedMs: number

  /** `onInvalidate`: notifies the other caches of accounts. */
  constructor(store: Store, names: BrandNames, clock: Clock, onInvalidate: (account: string) => void = () => {}) {
    this.#onInvalidate = onInvalidate
    this.#store = store
    this.#names = names
    this.#clock = clock
    this.#negativeCache = new LRUCache({
      maxSize: 10_000,
      sizeCalculation: countOne,
      ttl: negativeTtlMs,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    })
    this.#isShared = store.cluster !== null
    this.#respondedMs = clock.monotonicMs()
  }

  /**
   * The live credential of a bearer token, or null: unknown, revoked, expired, or of an account that may not use the service. Returns a
   * promise only if the store must be queried: a cached token costs no turn of the event loop.
   */
  resolve(token: string): ResolvedCredential | Promise<ResolvedCredential> {
    const cacheKey = hashTokenToBase64(token)
    const now = this.#clock.now()
    const cacheEntry = this.#cache.get(cacheKey)
    if (cacheEntry !== undefined && this.#isUsable(cacheEntry)) return this.#toLive(cacheEntry.value, now)
    const kind = this.#detectKind(token)
    if (kind === null || this.#negativeCache.has(cacheKey)) return null
    if (this.#isShared) return this.#lookUpFresh(kind, cacheKey, now)
    return this.#lookUpOnce(kind, cacheKey, now).result.then((found) => this.#toLive(found, now))
  }

  #isUsable({ value, readMs }: CacheEntry): boolean {
    const now = this.#clock.monotonicMs()
    if (now - readMs > (value.kind === 'key' ? keyTtlMs : positiveTtlMs)) return false
    return this.#isShared ? this.isFresh : now - Math.max(readMs, this.#polledMs) <= positiveTtlMs
  }

  /** Whether cached entries may be used now. */
  get isFresh(): boolean {
    return !this.#isShared || this.#clock.monotonicMs() - this.#polledMs <= freshForMs
  }

  /** If nodes share a database: time since it last answered. A slow database is not silent. */
  get databaseSilentMs(): number {
    return this.#isShared ? this.#clock.monotonicMs() - this.#respondedMs : 0
  }

  /** A result that took too long may be out of date and is queried again. */
  async #lookUpFresh(kind: CredentialKind, cacheKey: string, now: number): Promise<ResolvedCredential> {
    let isTimedOut = false
    const findFresh = async (): Promise<ResolvedCredential> => {
      for (;;) {
        const pendingLookup = this.#lookUpOnce(kind, cacheKey, now)
        const result = await pendingLookup.result
        if (isTimedOut || this.#clock.monotonicMs() - pendingLookup.startedMs <= freshForMs) return this.#toLive(result, now)
      }
    }
    try {
      return await this.#clock.within(lookupTimeoutMs, findFresh())
    } catch (error) {
      isTimedOut = true
      throw error instanceof GatewayError ? error : new GatewayError('temporarily_unavailable', { retryAfter: 1, cause: error })
    }
  }

  /** Concurrent requests with one new token query the store once. */
  #lookUpOnce(kind: CredentialKind, cacheKey: string, now: number): PendingLookup {
    const existingLookup = this.#pendingLookups.get(cacheKey)
    const startedMs = this.#clock.monotonicMs()
    if (existingLookup !== undefined && !(this.#isShared && startedMs - existingLookup.startedMs > freshForMs))
      return existingLookup
    const result = this.#lookUp(kind, cacheKey, now).finally(() => {
      if (this.#pendingLookups.get(cacheKey) === pendingLookup) this.#pendingLookups.delete(cacheKey)
    })
    const pendingLookup: PendingLookup = { startedMs, result }
    this.#pendingLookups.set(cacheKey, pendingLookup)
    return pendingLookup
  }

  /** Changes with every invalidation; other caches of accounts compare it. */
  get invalidations(): number {
    return this.#invalidations
  }

  /** Drops an account's entries here and in the other caches: its keys, sessions or plan have changed in this process. */
  invalidateEverywhere(account: string): void {
    this.invalidate(account)
    this.#onInvalidate(account)
  }

  /** Drops the accounts' entries after a change in another process. One pass for all of them: it takes some milliseconds if the cache is full. */
  invalidate(...accounts: readonly string[]): void {
    this.#cache.forEach(({ value }, key) => {
      if (accounts.includes(value.account.id)) this.#cache.delete(key)
    })
    this.#dropUncertain()
  }

  /** Drops everything; another process has changed something unknown. */
  invalidateAll(): void {
    this.#cache.clear()
    this.#dropUncertain()
  }

  /** Drops refusals, which may be wrong now, and pending queries, which may return the state before the change. */
  #dropUncertain(): void {
    this.#negativeCache.clear()
    this.#pendingLookups.clear()
    this.#invalidations += 1
  }

  async #lookUp(kind: CredentialKind, cacheKey: string, now: number): Promise<ResolvedCredential> {
    const invalidations = this.#invalidations
    const readMs = this.#clock.monotonicMs()
    const credential = await this.#findInStore(kind, Buffer.from(cacheKey, 'base64'), now)
    if (invalidations !== this.#invalidations) return credential
    if (credential === null) this.#negativeCache.set(cacheKey, true)
    else this.#cache.set(cacheKey, { value: credential, readMs })
    return credential
  }

  /** Reads the changes of other processes since the last poll and drops those accounts. Called every `pollIntervalMs`. */
  async pollChanges(): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    if (!this.#isShared) {
      const changeBatch = await this.#readChanges()
      // The change log may have deleted changes that are this old.
      if (startedMs - this.#polledMs > positiveTtlMs) this.invalidateAll()
      this.#invalidateChanged(changeBatch)
      this.#polledMs = startedMs
      return
    }
    try {
      // One at a time: changes that a late poll had already consumed would be missed by the next.
      if (this.#pendingPoll !== null) throw new Error('the change log does not answer')
      const poll = this.#readChanges().finally(() => (this.#pendingPoll = null))
      this.#pendingPoll = poll
      const changeBatch = await this.#clock.within(pollMs, poll)
      if (this.#hasGap) this.invalidateAll()
      this.#invalidateChanged(changeBatch)
      this.#hasGap = false
      this.#isFailureReported = false
      this.#polledMs = startedMs
    } catch (error) {
      this.#hasGap = true
      // Logged once until it succeeds again.
      const isReported = this.#isFailureReported
      this.#isFailureReported = true
      if (!isReported) throw error
    }
  }

  /** How often to call `pollChanges`. */
  get pollIntervalMs(): number {
    return this.#isShared ? pollMs : 2_000
  }

  async #readChanges(): Promise<ChangeBatch> {
    const { credentialChanges } = this.#store
    // Entries from before the first poll may be older than a change that the poll skipped.
    const changeBatch =
      this.#lastSeq === null
        ? { seq: await credentialChanges.getLatestSeq(), accounts: null }
        : await credentialChanges.listSince(this.#lastSeq, maxChangesPerPoll)
    this.#respondedMs = this.#clock.monotonicMs()
    return changeBatch
  }

  #invalidateChanged({ seq, accounts }: ChangeBatch): void {
    this.#lastSeq = seq
    if (accounts === null || accounts.length > maxSelectiveInvalidations) this.invalidateAll()
    else if (accounts.length > 0) this.invalidate(...accounts)
  }

  /** Writes when keys and sessions were last used. Called periodically and at the end. */
  async flushLastUsed(): Promise<void> {
    const keys = new Map(this.#keysLastUsed)
    const sessions = new Map(this.#sessionsLastUsed)
    this.#keysLastUsed.clear()
    this.#sessionsLastUsed.clear()
    if (keys.size > 0) await this.#store.apiKeys.recordLastUsed(keys)
    if (sessions.size > 0) await this.#store.sessions.recordLastUsed(sessions)
  }

  #detectKind(token: string): CredentialKind | null {
    if (looksLikeApiKey(token, this.#names.keyPrefix)) return 'key'
    if (looksLikeToken(token)) return 'cookie'
    const { sessionPrefix, appTokenPrefix } = this.#names
    if (token.startsWith(sessionPrefix) && looksLikeToken(token.slice(sessionPrefix.length))) return 'session'
    return token.startsWith(appTokenPrefix) && looksLikeToken(token.slice(appTokenPrefix.length)) ? 'app' : null
  }

  async #findInStore(kind: CredentialKind, hash: Buffer, now: number): Promise<ResolvedCredential> {
    if (kind === 'key') return this.#findKey(hash, now)
    return kind === 'app' ? this.#findOAuthToken(hash, now) : this.#findSession(kind, hash, now)
  }

  async #findSession(kind: 'session' | 'cookie', hash: Buffer, now: number): Promise<ResolvedCredential> {
    const sessionAndAccount = await this.#store.sessions.findByHash(hash)
    if (sessionAndAccount === undefined || sessionAndAccount.account.status !== 'active') return null
    if (sessionAndAccount.session.kind !== (kind === 'cookie' ? 'web' : 'cli')) return null
    const expiresAt = getSessionExpiry(sessionAndAccount.session)
    return expiresAt <= now ? null : { kind, id: sessionAndAccount.session.id, account: sessionAndAccount.account, expiresAt }
  }

  async #findOAuthToken(hash: Buffer, now: number): Promise<ResolvedCredential> {
    const tokenOwner = await this.#store.oauthClients.findTokenOwner(accessTokenKind, hash)
    if (tokenOwner === undefined || tokenOwner.account.status !== 'active') return null
    const expiresAt = Math.min(tokenOwner.expiresAt, getSessionExpiry(tokenOwner.session))
    return expiresAt <= now ? null : { kind: 'app', id: tokenOwner.session.id, account: tokenOwner.account, expiresAt }
  }

  async #findKey(hash: Buffer, now: number): Promise<ResolvedCredential> {
    const keyAndAccount = await this.#store.apiKeys.findByHash(hash)
    if (keyAndAccount === undefined || keyAndAccount.key.revokedAt !== null || keyAndAccount.account.status !== 'active')
      return null
    if (keyAndAccount.key.expiresAt !== null && keyAndAccount.key.expiresAt <= now) return null
    return { kind: 'key', id: keyAndAccount.key.id, account: keyAndAccount.account, expiresAt: keyAndAccount.key.expiresAt }
  }

  #toLive(credential: ResolvedCredential, now: number): Credential | null {
    if (credential === null || (credential.expiresAt !== null && credential.expiresAt <= now)) return null
    const lastUsed = credential.kind === 'key' ? this.#keysLastUsed : this.#sessionsLastUsed
    if (now - (lastUsed.get(credential.id) ?? 0) > lastUsedIntervalMs) lastUsed.set(credential.id, now)
    return credential
  }
}
