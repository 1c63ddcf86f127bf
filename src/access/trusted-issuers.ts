/** JWTs of issuers that the operator trusts: their own identity provider in addition to our sign-in. Each subject gets its own account. */
import { createHash } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import type { GatewayConfig } from '../config/config.ts'
import { redactUrl } from '../config/redact-url.ts'
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
  keys?: JWTVerifyGetKey
  /** Whether a failure to fetch them has been logged. */
  isFailureReported?: boolean
}

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
  readonly #known = new LRUCache<string, { readonly credential: Credential; readonly forgotten: number }>({
    maxSize: 10_000,
    // `maxSize` grows as needed; `max` would allocate everything at the start.
    sizeCalculation: () => 1,
    ttl: cacheTtlMs,
  })

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
    this.#credentials = credentials
    this.#log = log
  }

  /** The account of a token, created on first use; null if no trusted issuer signed it. */
  async resolve(token: string): Promise<Credential | null> {
    if (this.#trusted.length === 0 || token.split('.').length !== 3 || !isBounded(token)) return null
    const cacheKey = createHash('sha256').update(token).digest('base64')
    const { invalidations, isFresh } = this.#credentials
    const known = this.#known.get(cacheKey)
    // An account has changed since the entry was cached, perhaps this one: verify again.
    const current = isFresh && known?.forgotten === invalidations && (known.credential.expiresAt ?? 0) > this.#clock.now()
    if (known !== undefined && current) return known.credential
    for (const trusted of this.#trusted) {
      const credential = await this.#verify(token, trusted)
      if (credential === null) continue
      this.#known.set(cacheKey, { credential, forgotten: invalidations })
      return credential
    }
    return null
  }

  async #verify(token: string, trusted: TrustedIssuer): Promise<Credential | null> {
    const { issuer } = trusted
    // Most installations trust no other issuer, and none needs the library before its first token.
    const { createRemoteJWKSet, customFetch, jwtVerify } = await import('jose')
    trusted.keys ??= createRemoteJWKSet(new URL(issuer.jwksUrl), { [customFetch]: createCheckedFetch(fetch) })
    const verified = await jwtVerify(token, trusted.keys, {
      // Configured addresses have no trailing slash; an issuer's name may have one, as Auth0's do.
      issuer: [issuer.issuer, `${issuer.issuer}/`],
      audience: issuer.audience,
      algorithms,
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(this.#clock.now()),
    }).catch((error: unknown) => this.#reportRefusal(trusted, error))
    const { sub, exp } = verified?.payload ?? {}
    if (sub === undefined || exp === undefined) return null
    trusted.isFailureReported = false
    const email = toSubjectEmail(issuer.issuer, sub)
    const found = (await this.#accounts.find(email)) ?? (await this.#createAccount(email, issuer.plan))
    if (found?.status !== 'active') return null
    return { kind: 'jwt', id: sub, account: found, expiresAt: exp * 1000 }
  }

  /** A bad token is its bearer's fault; a missing key set locks everyone out. Logged once, until a token verifies again. */
  #reportRefusal(trusted: TrustedIssuer, error: unknown): null {
    const { code, cause, name } = error as { code?: unknown; cause?: { code?: unknown }; name?: unknown }
    const isJwksError = typeof code !== 'string' || !code.startsWith('ERR_J') || jwksErrorCodes.has(code)
    if (!isJwksError || trusted.isFailureReported === true) return null
    trusted.isFailureReported = true
    // The message may contain the address with its credentials.
    const reason = code ?? cause?.code ?? name
    this.#log.warn(
      { keys: redactUrl(trusted.issuer.jwksUrl), reason },
      'the keys of a trusted issuer cannot be fetched: its tokens are refused',
    )
    return null
  }

  async #createAccount(email: string, plan: string) {
    const at = this.#clock.now()
    const created = await this.#accounts.create({
      id: this.#ids.next('acc_', at),
      email,
      plan,
      passwordHash: null,
      emailVerified: false,
      at,
    })
    // A concurrent first request created it.
    return created ?? (await this.#accounts.find(email))
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

/**
 * An address that receives no mail, unique to issuer and subject. The token's own address is not used: an issuer must not be able to open an
 * account that another person has created here.
 */
function toSubjectEmail(issuer: string, subject: string): string {
  const digest = createHash('sha256').update(`${issuer}\n${subject}`).digest('hex').slice(0, 40)
  return `${digest}@jwt.invalid`
}
