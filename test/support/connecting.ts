/** A program that signs in to the tool server for a member, step by step, as its HTTP requests. */
import { createHash, randomBytes } from 'node:crypto'
import type { Browser } from './browser.ts'
import type { TestGateway } from './gateway.ts'

export const redirect = 'http://127.0.0.1:3334/callback'

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly scope: string
  readonly token_type: string
}

export interface Answer<Body = Record<string, string>> {
  readonly status: number
  readonly body: Body
}

export class Program {
  readonly gateway: TestGateway
  readonly verifier = randomBytes(32).toString('base64url')
  readonly resource: string
  id = ''

  constructor(gateway: TestGateway) {
    this.gateway = gateway
    this.resource = `${gateway.services.origins.base}/v1/mcp`
  }

  async register(metadata: Record<string, unknown> = {}): Promise<Answer> {
    const answer = await this.#post<Record<string, string>>(
      '/oauth/register',
      JSON.stringify({ client_name: 'Probe', redirect_uris: [redirect], ...metadata }),
      'application/json',
    )
    this.id = answer.body['client_id'] ?? ''
    return answer
  }

  /** Where a member's browser is sent. */
  authorizePath(changes: Readonly<Record<string, string | undefined>> = {}): string {
    const all = {
      client_id: this.id,
      response_type: 'code',
      redirect_uri: redirect,
      state: 'of the program',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.resource,
      scope: 'tools',
      ...changes,
    }
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
    return `/oauth/authorize?${new URLSearchParams(given)}`
  }

  /** Up to the page on which the member decides; returns its address. */
  async arrive(browser: Browser, changes: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
    const { status, headers, body } = await browser.get(this.gateway.url + this.authorizePath(changes))
    if (status !== 303) throw new Error(`the request was refused: ${status} ${String(body)}`)
    return new URL(headers.get('location') ?? '', this.gateway.url).href
  }

  /** The whole way of a member who decides so; the address to which their browser is sent in the end. */
  async ask(browser: Browser, decision: 'approve' | 'deny' = 'approve', changes = {}): Promise<URL> {
    const page = await this.arrive(browser, changes)
    const decided = await browser.send('POST', page, { decision })
    if (decided.status !== 200) throw new Error(`the decision was refused: ${JSON.stringify(decided.body)}`)
    const { headers } = await browser.get(decided.body.location)
    return new URL(headers.get('location') ?? '')
  }

  redeem(code: string | null, changes: Readonly<Record<string, string>> = {}): Promise<Answer<Tokens>> {
    return this.token({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: redirect,
      code_verifier: this.verifier,
      ...changes,
    })
  }

  refresh(word: string): Promise<Answer<Tokens>> {
    return this.token({ grant_type: 'refresh_token', refresh_token: word })
  }

  token(fields: Readonly<Record<string, string>>): Promise<Answer<Tokens>> {
    const form = new URLSearchParams({ client_id: this.id, resource: this.resource, ...fields })
    return this.#post('/oauth/token', form.toString(), 'application/x-www-form-urlencoded')
  }

  revoke(token: string): Promise<Answer> {
    const form = new URLSearchParams({ client_id: this.id, token })
    return this.#post('/oauth/revoke', form.toString(), 'application/x-www-form-urlencoded')
  }

  /** What the tool server says to this token. */
  async use(token: string, path = '/v1/mcp'): Promise<number> {
    const response = await fetch(this.gateway.url + path, { headers: { authorization: `Bearer ${token}` } })
    await response.arrayBuffer()
    return response.status
  }

  async #post<Body>(path: string, body: string, type: string): Promise<Answer<Body>> {
    const response = await fetch(this.gateway.url + path, { method: 'POST', headers: { 'content-type': type }, body })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Body }
  }
}
