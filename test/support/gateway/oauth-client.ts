/** A program that signs in to the tool server for a member, step by step, with plain HTTP requests. */
import { createHash, randomBytes } from 'node:crypto'
import type { WebsiteClient } from './website-client.ts'
import type { TestGateway } from './test-gateway.ts'

export const redirectUri = 'http://127.0.0.1:3334/callback'

export interface TokenResponse {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly scope: string
  readonly token_type: string
}

export interface OAuthResponse<Body = Record<string, string>> {
  readonly status: number
  readonly body: Body
}

export class OAuthTestClient {
  readonly gateway: Pick<TestGateway, 'url' | 'services'>
  readonly verifier = randomBytes(32).toString('base64url')
  readonly resource: string
  clientId = ''

  constructor(gateway: Pick<TestGateway, 'url' | 'services'>) {
    this.gateway = gateway
    this.resource = `${gateway.services.origins.base}/v1/mcp`
  }

  async register(metadata: Record<string, unknown> = {}): Promise<OAuthResponse> {
    const answer = await this.#post<Record<string, string>>(
      '/oauth/register',
      JSON.stringify({ client_name: 'Probe', redirect_uris: [redirectUri], ...metadata }),
      'application/json',
    )
    this.clientId = answer.body['client_id'] ?? ''
    return answer
  }

  /** The address that the member's browser opens. */
  authorizePath(changes: Readonly<Record<string, string | undefined>> = {}): string {
    const all = {
      client_id: this.clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      state: 'of the program',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.resource,
      scope: 'tools',
      ...changes,
    }
    const params = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
    return `/oauth/authorize?${new URLSearchParams(params)}`
  }

  /** Opens the page on which the member decides; returns its address. */
  async openConsentPage(browser: WebsiteClient, changes: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
    const { status, headers, body } = await browser.get(this.gateway.url + this.authorizePath(changes))
    if (status !== 303) throw new Error(`the request was refused: ${status} ${String(body)}`)
    return new URL(headers.get('location') ?? '', this.gateway.url).href
  }

  /** Runs the whole flow with this decision; returns the final redirect address. */
  async authorize(browser: WebsiteClient, decision: 'approve' | 'deny' = 'approve', changes = {}): Promise<URL> {
    const page = await this.openConsentPage(browser, changes)
    const consent = await browser.send('POST', page, { decision })
    if (consent.status !== 200) throw new Error(`the decision was refused: ${JSON.stringify(consent.body)}`)
    const { headers } = await browser.get(consent.body.location)
    return new URL(headers.get('location') ?? '')
  }

  exchangeCode(code: string | null, changes: Readonly<Record<string, string>> = {}): Promise<OAuthResponse<TokenResponse>> {
    return this.requestToken({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: redirectUri,
      code_verifier: this.verifier,
      ...changes,
    })
  }

  refresh(refreshToken: string): Promise<OAuthResponse<TokenResponse>> {
    return this.requestToken({ grant_type: 'refresh_token', refresh_token: refreshToken })
  }

  requestToken(fields: Readonly<Record<string, string>>): Promise<OAuthResponse<TokenResponse>> {
    const form = new URLSearchParams({ client_id: this.clientId, resource: this.resource, ...fields })
    return this.#post('/oauth/token', form.toString(), 'application/x-www-form-urlencoded')
  }

  revoke(token: string): Promise<OAuthResponse> {
    const form = new URLSearchParams({ client_id: this.clientId, token })
    return this.#post('/oauth/revoke', form.toString(), 'application/x-www-form-urlencoded')
  }

  /** The tool server's answer to this token. */
  async requestWithToken(token: string, path = '/v1/mcp'): Promise<number> {
    const response = await fetch(this.gateway.url + path, { headers: { authorization: `Bearer ${token}` } })
    await response.arrayBuffer()
    return response.status
  }

  async #post<Body>(path: string, body: string, type: string): Promise<OAuthResponse<Body>> {
    const response = await fetch(this.gateway.url + path, { method: 'POST', headers: { 'content-type': type }, body })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Body }
  }
}
