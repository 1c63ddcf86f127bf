/** JWTs of issuers that the operator trusts: their own identity provider instead of ours. Each subject becomes an account of its own. */
import { createHash } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import type { Credential, Credentials } from './credentials.ts'
import type { Ids } from '../system/ids.ts'
import type { Accounts } from '../membership/account.ts'
import type { Clock } from '../system/clock.ts'
import type { Logger } from 'pino'
import { LRUCache } from 'lru-cache'

type Issuer = GatewayConfig['signIn']['jwtIssuers'][number]

interface Trusted {
  readonly issuer: Issuer
  /** Fetched when a token is shown, and then remembered. */
  keys?: JWTVerifyGetKey
  /** That they cannot be had was said. */
  isTold?: boolean
}

/** Signatures are costly to check; a verified token is remembered for so long, and never past its own expiry. */
const rememberMs = 30_000
/** Asymmetric only: a shared secret would let whoever can check a token also make one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** What jose calls an answer that holds no keys, or none in time; all else that it calls by a name is the token's. */
const keysFaults: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'])

export class TrustedIssuers {
  readonly #trusted: readonly Trusted[]
  readonly #accounts: Accounts
  readonly #ids: Ids
  readonly #clock: Clock
  readonly #credentials: Pick<Credentials, 'forgotten' | 'isCurrent'>
  readonly #log: Pick<Logger, 'warn'>
  readonly #known = new LRUCache<string, { readonly credential: Credential; readonly forgotten: number }>({
    maxSize: 10_000,
    // By size it grows with what it holds; with `max` it would make room for all of it at the start.
    sizeCalculation: () => 1,
    ttl: rememberMs,
  })

  constructor(
    issuers: readonly Issuer[],
    accounts: Accounts,
    ids: Ids,
    clock: Clock,
    credentials: Pick<Credentials, 'forgotten' | 'isCurrent'>,
    log: Pick<Logger, 'warn'>,
  ) {
    this.#trusted = issuers.map((issuer) => ({ issuer }))
    this.#accounts = accounts
    this.#ids = ids
    this.#clock = clock
    this.#credentials = credentials
    this.#log = log
  }

  /** The account behind a token, made at its first sight; null when no trusted issuer signed it. */
  async resolve(token: string): Promise<Credential | null> {
    if (this.#trusted.length === 0 || token.split('.').length !== 3) return null
    const cacheKey = createHash('sha256').update(token).digest('latin1')
    const { forgotten, isCurrent } = this.#credentials
    const known = this.#known.get(cacheKey)
    // Since it was remembered an account has changed, perhaps this one: looked at anew.
    const current = isCurrent && known?.forgotten === forgotten && (known.credential.expiresAt ?? 0) > this.#clock.now()
    if (known !== undefined && current) return known.credential
    for (const trusted of this.#trusted) {
      const credential = await this.#verify(token, trusted)
      if (credential === null) continue
      this.#known.set(cacheKey, { credential, forgotten })
      return credential
    }
    return null
  }

  async #verify(token: string, trusted: Trusted): Promise<Credential | null> {
    const { issuer } = trusted
    // Most installations trust no other issuer, and none needs this before it has seen a token of one.
    const { createRemoteJWKSet, jwtVerify } = await import('jose')
    trusted.keys ??= createRemoteJWKSet(new URL(issuer.jwksUrl))
    const verified = await jwtVerify(token, trusted.keys, {
      // The configuration's addresses have no slash at their end; an issuer's name may have one, as Auth0's do.
      issuer: [issuer.issuer, `${issuer.issuer}/`],
      audience: issuer.audience,
      algorithms,
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(this.#clock.now()),
    }).catch((error: unknown) => this.#refused(trusted, error))
    const { sub, exp } = verified?.payload ?? {}
    if (sub === undefined || exp === undefined) return null
    trusted.isTold = false
    const email = subjectAddress(issuer.issuer, sub)
    const found = (await this.#accounts.find(email)) ?? (await this.#make(email, issuer.plan))
    if (found?.status !== 'active') return null
    return { kind: 'jwt', id: sub, account: found, expiresAt: exp * 1000 }
  }

  /** A token that is not good is its bearer's affair; keys that cannot be had keep everybody out. Said once, until a token is good again. */
  #refused(trusted: Trusted, error: unknown): null {
    const { code, cause, name } = error as { code?: unknown; cause?: { code?: unknown }; name?: unknown }
    const isOfKeys = typeof code !== 'string' || !code.startsWith('ERR_J') || keysFaults.has(code)
    if (!isOfKeys || trusted.isTold === true) return null
    trusted.isTold = true
    // Its words may hold the address, with what stands in it.
    const reason = code ?? cause?.code ?? name
    this.#log.warn(
      { keys: shownUrl(trusted.issuer.jwksUrl), reason },
      'the keys of a trusted issuer cannot be had: its tokens are refused',
    )
    return null
  }

  async #make(email: string, plan: string) {
    const at = this.#clock.now()
    const made = await this.#accounts.create({
      id: this.#ids.next('acc_', at),
      email,
      plan,
      passwordHash: null,
      emailVerified: false,
      at,
    })
    // Two first requests at once: one of them has made it.
    return made ?? (await this.#accounts.find(email))
  }
}

/**
 * An address that nobody can receive mail at, unique to issuer and subject. The token's own address is not used: an issuer's word on it
 * must not open an account that somebody else has made here.
 */
function subjectAddress(issuer: string, subject: string): string {
  const digest = createHash('sha256').update(`${issuer}\n${subject}`).digest('hex').slice(0, 40)
  return `${digest}@jwt.invalid`
}
