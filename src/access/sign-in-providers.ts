/** OpenID Connect providers for sign-in, by openid-client: metadata, the code exchange, and what their failures mean. */
import type * as Oidc from 'openid-client'
import type { GatewayConfig } from '../config/config.ts'
import type { Clock } from '../system/clock.ts'
import { createCheckedFetch } from './checked-fetch.ts'

type ProviderConfig = GatewayConfig['signIn']['providers'][string]
export type SignInProviders = Readonly<Record<string, ProviderConfig>>

/** Validated claims of a sign-in. */
interface IdentityClaims {
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  /** Of the configured claim; empty without one. */
  readonly groups: readonly string[]
  readonly idToken: string
}

/** State of a sign-in in progress, kept from its start. */
interface CodeExchange {
  readonly verifier: string
  readonly nonce: string
  readonly state: string
}

const timeoutSeconds = 10
/** Endpoints and keys of a provider change rarely, but without a restart of ours. */
const metadataMaxAgeMs = 60 * 60_000
/** openid-client's error code for a provider whose metadata names another issuer. */
const issuerMismatchCode = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'

export class ProviderClients {
  readonly #providers: SignInProviders
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #cached = new Map<string, { readonly client: Promise<Oidc.Configuration>; readonly fetchedAt: number }>()

  constructor(providers: SignInProviders, clock: Pick<Clock, 'monotonicMs'>) {
    this.#providers = providers
    this.#clock = clock
  }

  /** The provider with its metadata, at most an hour old. A failure is not cached. */
  get(id: string): Promise<Oidc.Configuration> {
    const cachedDiscovery = this.#cached.get(id)
    const now = this.#clock.monotonicMs()
    if (cachedDiscovery !== undefined && now - cachedDiscovery.fetchedAt < metadataMaxAgeMs) return cachedDiscovery.client
    const provider = this.#providers[id]
    if (provider === undefined) return Promise.reject(new Error(`there is no sign-in provider '${id}'`))
    const client = discoverProvider(provider)
    this.#cached.set(id, { client, fetchedAt: now })
    client.catch(() => this.forget(id, client))
    return client
  }

  /** Fetches the metadata anew at the next use, for example because an endpoint of it failed. */
  forget(id: string, client?: Promise<Oidc.Configuration>): void {
    if (client === undefined || this.#cached.get(id)?.client === client) this.#cached.delete(id)
  }

  /** The claims behind the provider's redirect to `url`. */
  async exchangeCode(id: string, url: URL, { verifier, nonce, state }: CodeExchange): Promise<IdentityClaims> {
    const oidc = await loadOidcClient()
    const client = await this.get(id)
    try {
      const tokens = await oidc.authorizationCodeGrant(client, url, {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        expectedState: state,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined || tokens.id_token === undefined) throw new Error('the provider sent no id token')
      const groupsClaim = this.#providers[id]?.groups?.claim ?? null
      const isComplete = typeof claims['email'] === 'string' && (groupsClaim === null || claims[groupsClaim] !== undefined)
      // Some providers return the email address, or groups, only from the userinfo endpoint.
      const profile =
        isComplete || client.serverMetadata().userinfo_endpoint === undefined
          ? claims
          : { ...claims, ...(await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)) }
      const email = profile['email']
      return {
        subject: claims.sub,
        email: typeof email === 'string' ? email : null,
        emailVerified: profile['email_verified'] === true,
        groups: groupsClaim === null ? [] : readGroups(profile[groupsClaim]),
        idToken: tokens.id_token,
      }
    } catch (error) {
      this.forget(id)
      throw error
    }
  }

  /** Where the browser ends its session at the provider; null where the provider has no such page. */
  async buildSignOutUrl(id: string, { idToken, returnTo }: { idToken: string; returnTo: string }): Promise<string | null> {
    const oidc = await loadOidcClient()
    const client = await this.get(id)
    if (client.serverMetadata().end_session_endpoint === undefined) return null
    return oidc.buildEndSessionUrl(client, { id_token_hint: idToken, post_logout_redirect_uri: returnTo }).href
  }
}

/** A list of names, or one name; anything else is no group. Their number is bounded by the size of the provider's answer. */
function readGroups(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return names.filter((name) => typeof name === 'string')
}

/** Imported at the first sign-in: most installations have no provider, and the start should not wait for it. */
export function loadOidcClient(): Promise<typeof Oidc> {
  return import('openid-client')
}

/** Reads the metadata of a provider. */
async function discoverProvider(provider: ProviderConfig): Promise<Oidc.Configuration> {
  const oidc = await loadOidcClient()
  const issuer = new URL(provider.issuer)
  // The library passes only the address and options of its own.
  const checkedFetch = createCheckedFetch(fetch) as Oidc.CustomFetch
  const discover = async (server: URL): Promise<Oidc.Configuration> => {
    // Plain http is allowed for a provider on this machine only, which the configuration check enforces.
    const execute = issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []
    // The metadata decides how the secret is sent, and the client needs to know that when it is made.
    const configuration = await oidc.discovery(server, provider.clientId, undefined, oidc.None(), {
      timeout: timeoutSeconds,
      [oidc.customFetch]: checkedFetch,
      execute,
    })
    const metadata = configuration.serverMetadata()
    assertEndpoints(metadata)
    const client = new oidc.Configuration(metadata, provider.clientId, undefined, createClientAuth(oidc, provider, metadata))
    client.timeout = timeoutSeconds
    client[oidc.customFetch] = checkedFetch
    for (const extend of execute) extend(client)
    return client
  }
  try {
    return await discover(issuer)
  } catch (error) {
    // Configured issuers have no trailing slash; the names of some providers have one.
    if ((error as { code?: unknown }).code !== issuerMismatchCode) throw error
    return discover(new URL(`${provider.issuer}/`))
  }
}

/** A sign-in redirects to one of them and sends its code to another; the library does not check them before. */
function assertEndpoints(metadata: Oidc.ServerMetadata): void {
  const missingFields = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].filter((name) => metadata[name] === undefined)
  const wrong = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint', 'end_session_endpoint'].filter(
    (name) => metadata[name] !== undefined && !isWebAddress(metadata[name]),
  )
  const [name] = [...missingFields, ...wrong]
  if (name !== undefined) throw new Error(`the provider's metadata has no usable ${name}`)
}

function isWebAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

function createClientAuth(
  oidc: typeof Oidc,
  { clientSecret, clientAuth }: ProviderConfig,
  { token_endpoint_auth_methods_supported: supported }: Oidc.ServerMetadata,
): Oidc.ClientAuth {
  if (clientSecret === null) return oidc.None()
  const onlyPost = supported?.includes('client_secret_post') === true && !supported.includes('client_secret_basic')
  const method = clientAuth === 'auto' && onlyPost ? 'client_secret_post' : clientAuth
  return method === 'client_secret_post' ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret)
}

/**
 * Sends the client's credentials to the token endpoint with a code that does not exist. Null if the provider accepts them, else what it
 * answered. @throws where the metadata or the endpoint cannot be used
 */
export async function findClientFault(provider: ProviderConfig, redirectUri: string): Promise<string | null> {
  const oidc = await loadOidcClient()
  const client = await discoverProvider(provider)
  try {
    await oidc.genericGrantRequest(client, 'authorization_code', {
      code: 'a-code-that-does-not-exist',
      redirect_uri: redirectUri,
      code_verifier: oidc.randomPKCECodeVerifier(),
    })
    return null
  } catch (error) {
    const { status, error: code } = error as { status?: unknown; error?: unknown }
    if (status === 401 || code === 'invalid_client' || code === 'unauthorized_client') return describeProviderError(error)
    // Another refusal is about the code: the provider has accepted who sent it.
    if (typeof code === 'string') return null
    throw error
  }
}

const maxQuotedChars = 200

/** What a provider answered, as one line for the log: its error code and description, never a token or a secret. */
export function describeProviderError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  const { code, error: oauthError, error_description: description, status, cause } = error as ProviderFailure
  if (typeof oauthError === 'string') {
    const detail = typeof description === 'string' ? ` (${quote(description)})` : ''
    return `${quote(oauthError)}${detail}${typeof status === 'number' ? `, HTTP ${status}` : ''}`
  }
  const advice = typeof code === 'string' ? (adviceByCode[code] ?? '') : ''
  const response = [cause, (cause as ProviderFailure | undefined)?.cause].find((each) => each instanceof Response)
  const answer =
    response === undefined ? '' : ` (HTTP ${response.status}, ${response.headers.get('content-type') ?? 'no content type'})`
  const origin = cause instanceof Error ? `: ${quote(describeCause(cause))}` : ''
  return `${quote(error.message)}${origin}${answer}${advice}`
}

interface ProviderFailure {
  readonly code?: unknown
  readonly error?: unknown
  readonly error_description?: unknown
  readonly status?: unknown
  readonly cause?: unknown
}

const adviceByCode: Readonly<Record<string, string>> = {
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: '; compare the clocks of this machine and of the provider',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: '; the provider names another issuer than the configuration',
}

function describeCause(cause: Error): string {
  const { code } = cause as { code?: unknown }
  return typeof code === 'string' && !cause.message.includes(code) ? `${cause.message} (${code})` : cause.message
}

/** One line of printable text. */
function quote(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').slice(0, maxQuotedChars)
}
