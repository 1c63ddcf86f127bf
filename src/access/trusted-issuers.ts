/** JWTs of issuers that the operator trusts: their own identity provider in addition to our sign-in. Each subject gets its own account. */
import { createHash } from 'node:crypto'
import type * as Jose from 'jose'
import type { GatewayConfig } from '../config/config.ts'
import { redactUrl } from '../config/redact-url.ts'
import { GatewayError } from '../errors.ts'
import { checkToken, createCheckedFetch } from './checked-fetch.ts'
import type { Credential, Credentials } from './credentials.ts'
import type { Ids } from '../system/ids.ts'
import type { Accounts } from '../domain/identity/account.ts'
import type { Clock } from '../system/clock.ts'
import type { Logger } from 'pino'
import { LRUCache } from 'lru-cache'

type Issuer = GatewayConfig['signIn']['jwtIssuers'][number]

interface TrustedIssuer {
  readonly issuer: Issuer
  /** Fetched with the first token and then cached. */
  keys?: ReturnType<typeof Jose.createRemoteJWKSet>
  /** Whether a failure to fetch them has been logged. */
  isFailureReported?: boolean
  /** Until then no request fetches them again: monotonic milliseconds. */
  retryAt?: number
}

/** After a failure to fetch the keys: a token costs its bearer nothing, so each must not cost a fetch. */
const keyRetryMs = 5_000
/** Signatures are costly to verify; a verified token is cached for this time, and never past its own expiry. */
const cacheTtlMs = 30_000
/** Asymmetric only: with a shared secret, a verifier could also issue tokens. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** jose's error codes for a key set that cannot be read or fetched in time; every other code is the token's fault. */
const jwksErrorCodes: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'])

export class TrustedIssuers {
  readonly #trusted: readonly TrustedIssuer[]
  readonly #accounts: Accounts
  readonly #ids: Ids
  readonly #clock: Clock
  readonly #credentials: Pick<Credentials, 'invalidations' | 'isFresh'>
  readonly #log: Pick<Logger, 'warn'>
  readonly #known: LRUCache<string, { readonly credential: Credential; readonly forgotten: number }>

  constructor(
    issuers: readonly Issuer[],
    accounts: Accounts,
    ids: Ids,
    clock: Clock,
    credentials: Pick<Credentials, 'invalidations' | 'isFresh'>,
    log: Pick<Logger, 'warn'>,
  ) {
    this.#trusted = issuers.map((issuer) => ({ issuer }))
    this.#accounts = accounts
    this.#ids = ids
    this.#clock = clock
    this.#known = new LRUCache({
      maxSize: 10_000,
      // `maxSize` grows as needed; `max` would allocate everything at the start.
      sizeCalculation: () => 1,
      ttl: cacheTtlMs,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    })
    this.#credentials = credentials
    this.#log = log
  }

  /**
   * The account of a token, created on first use; null if no trusted issuer signed it.
   * @throws GatewayError `temporarily_unavailable` where the keys of its issuer cannot be fetched, because then nothing is known about it
   */
  async resolve(token: string): Promise<Credential | null> {
    if (this.#trusted.length === 0 || token.split('.').length !== 3 || !isBounded(token)) return null
    const cacheKey = createHash('sha256').update(token).digest('base64')
    const { invalidations, isFresh } = this.#credentials
    const cacheEntry = this.#known.get(cacheKey)
    // An account has changed since the entry was cached, perhaps this one: verify again.
    const current =
      isFresh && cacheEntry?.forgotten === invalidations && (cacheEntry.credential.expiresAt ?? 0) > this.#clock.now()
    if (cacheEntry !== undefined && current) return cacheEntry.credential
    const { decodeJwt } = await loadJose()
    const issuerName = readIssuer(token, decodeJwt)
    for (const trustedIssuer of this.#trusted) {
      if (!listIssuerNames(trustedIssuer.issuer).includes(issuerName ?? '')) continue
      const credential = await this.#verify(token, trustedIssuer)
      if (credential === null) continue
      this.#known.set(cacheKey, { credential, forgotten: invalidations })
      return credential
    }
    return null
  }

  async #verify(token: string, trusted: TrustedIssuer): Promise<Credential | null> {
    const { issuer } = trusted
    const now = this.#clock.monotonicMs()
    const jose = await loadJose()
    trusted.keys ??= createKeySet(jose, issuer.jwksUrl)
    if (trusted.retryAt !== undefined && now < trusted.retryAt && !trusted.keys.fresh)
      throw createKeysUnavailableError(trusted.retryAt - now)
    const verifiedToken = await jose
      .jwtVerify(token, trusted.keys, {
        issuer: listIssuerNames(issuer),
        audience: issuer.audience,
        algorithms,
        requiredClaims: ['sub', 'exp'],
        currentDate: new Date(this.#clock.now()),
      })
      .catch((error: unknown) => this.#refuse(trusted, error))
    const { sub, exp } = verifiedToken?.payload ?? {}
    if (sub === undefined || exp === undefined) return null
    trusted.isFailureReported = false
    delete trusted.retryAt
    const email = toSubjectEmail(issuer.issuer, sub)
    const account = (await this.#accounts.find(email)) ?? (await this.#createAccount(email, issuer.plan))
    if (account?.status !== 'active') return null
    return { kind: 'jwt', id: sub, account, expiresAt: exp * 1000 }
  }

  /**
   * Null for a bad token, which is its bearer's fault. Keys that cannot be fetched lock every member of the issuer out; that is logged once,
   * until a token verifies again. @throws GatewayError `temporarily_unavailable`
   */
  #refuse(trusted: TrustedIssuer, error: unknown): null {
    const { code, cause, name } = error as { code?: unknown; cause?: { code?: unknown }; name?: unknown }
    const isJwksError = typeof code !== 'string' || !code.startsWith('ERR_J') || jwksErrorCodes.has(code)
    if (!isJwksError) return null
    trusted.retryAt = this.#clock.monotonicMs() + keyRetryMs
    if (trusted.isFailureReported !== true) {
      trusted.isFailureReported = true
      // The message may contain the address with its credentials.
      const reason = code ?? cause?.code ?? name
      this.#log.warn(
        { keys: redactUrl(trusted.issuer.jwksUrl), reason },
        'the keys of a trusted issuer cannot be fetched: its tokens are answered 503',
      )
    }
    throw createKeysUnavailableError(keyRetryMs)
  }

  async #createAccount(email: string, plan: string) {
    const at = this.#clock.now()
    const newAccount = await this.#accounts.create({
      id: this.#ids.next('acc_', at),
      email,
      plan,
      passwordHash: null,
      emailVerified: false,
      at,
    })
    // A concurrent first request created it.
    return newAccount ?? (await this.#accounts.find(email))
  }
}

/** Whether a library may decode the token. */
function isBounded(token: string): boolean {
  try {
    checkToken(token)
    return true
  } catch {
    return false
  }
}

/** Fetches a key set; null if it can be used. */
export async function findKeySetFault(jwksUrl: string): Promise<unknown> {
  const keys = createKeySet(await loadJose(), jwksUrl)
  try {
    await keys.reload()
    const keyCount = keys.jwks()?.keys.length ?? 0
    return keyCount > 0 ? null : new Error('the key set is empty')
  } catch (error) {
    return error
  }
}

/** Most installations trust no other issuer, and none needs the library before its first token. */
function loadJose(): Promise<typeof Jose> {
  return import('jose')
}

function createKeySet({ createRemoteJWKSet, customFetch }: typeof Jose, jwksUrl: string): ReturnType<typeof createRemoteJWKSet> {
  return createRemoteJWKSet(new URL(jwksUrl), { [customFetch]: createCheckedFetch(fetch) })
}

/** The issuer that a token names, before anything is verified; null for a text that is no token. */
function readIssuer(token: string, decodeJwt: typeof Jose.decodeJwt): string | null {
  try {
    const { iss } = decodeJwt(token)
    return typeof iss === 'string' ? iss : null
  } catch {
    return null
  }
}

/** Configured addresses have no trailing slash; an issuer's name may have one, as Auth0's do. */
function listIssuerNames({ issuer }: Issuer): string[] {
  return [issuer, `${issuer}/`]
}

function createKeysUnavailableError(retryAfterMs: number): GatewayError {
  return new GatewayError('temporarily_unavailable', {
    retryAfter: retryAfterMs / 1000,
    message: {
      en: 'Your token cannot be checked at the moment, because the keys of its issuer cannot be fetched. Try again in a few seconds.',
      zh: '暂时无法获取签发方的密钥，因此无法验证你的 token，请稍后重试。',
    },
  })
}

/**
 * An address that receives no mail, unique to issuer and subject. The token's own address is not used: an issuer must not be able to open an
 * account that another person has created here.
 */
function toSubjectEmail(issuer: string, subject: string): string {
  const digest = createHash('sha256').update(`${issuer}\n${subject}`).digest('hex').slice(0, 40)
  return `${digest}@jwt.invalid`
}
