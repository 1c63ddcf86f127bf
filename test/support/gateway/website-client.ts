/** A browser for the membership endpoints: it keeps cookies and marks its requests as same-origin. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../wait-until.ts'

export interface ClientResponse {
  readonly status: number
  readonly headers: Headers
  // Assertions read answers field by field; the shapes are what the tests check.
  // eslint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** A gateway's address and the folder of its outbox; a `TestGateway` is one. */
export interface SiteAccess {
  readonly url: string
  readonly config: { readonly store: { readonly dataDir: string } }
}

export class WebsiteClient {
  readonly cookies = new Map<string, string>()
  readonly #gateway: SiteAccess
  readonly #headers: Readonly<Record<string, string>>

  constructor(gateway: SiteAccess, headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' }) {
    this.#gateway = gateway
    this.#headers = headers
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<ClientResponse> {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<ClientResponse> {
    return this.send('POST', path, body, headers)
  }

  delete(path: string, headers: Readonly<Record<string, string>> = {}): Promise<ClientResponse> {
    return this.send('DELETE', path, undefined, headers)
  }

  /** `path` is under `/api/membership`, or a whole address. */
  async send(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ClientResponse> {
    const address = /^https?:/.test(path) ? path : `${this.#gateway.url}/api/membership/${path}`
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.cookies.size === 0 ? {} : { cookie: this.cookieHeader() }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new Error(`${method} ${path}: ${error.message}: ${String(error.cause)}`)
    })
    this.#storeCookies(response.headers)
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Signs in by email code, as a user does; returns the answer to the code. */
  async signIn(email: string, extra: Readonly<Record<string, unknown>> = {}): Promise<ClientResponse> {
    const before = readEmailsTo(this.#gateway, email).length
    const started = await this.post('auth/otp/start', { email })
    if (started.status !== 200) throw new Error(`no code was sent: ${JSON.stringify(started.body)}`)
    const code = await waitForEmailCode(this.#gateway, email, before + 1)
    const answer = await this.post('auth/otp/verify', { email, code, ...extra })
    if (answer.status !== 200) throw new Error(`the code was refused: ${JSON.stringify(answer.body)}`)
    return answer
  }

  #storeCookies(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (value === '' || attributes.some((attribute) => /^\s*max-age=0$/i.test(attribute))) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

/** The emails in the outbox to this address, oldest first. */
export function readEmailsTo({ config }: Pick<SiteAccess, 'config'>, email: string): string[] {
  const outbox = join(config.store.dataDir, 'outbox')
  let names: string[]
  try {
    names = readdirSync(outbox)
  } catch {
    return []
  }
  return names
    .filter((name) => name.endsWith('.eml'))
    .toSorted()
    .map((name) => readFileSync(join(outbox, name), 'utf8'))
    .filter((message) => message.toLowerCase().includes(`to: ${email.toLowerCase()}`))
}

/** The token of the link in an email. Quoted-printable breaks long lines with an equals sign at the end. */
export function parseMagicLink(email: string): string | undefined {
  return /\/sign-in\/link#([\w-]{43})/.exec(email.replaceAll(/=\r?\n/g, ''))?.[1]
}

/** The token of the link in the newest email to this address, once there are `count`. */
export async function waitForMagicLink(gateway: Pick<SiteAccess, 'config'>, email: string, count = 1): Promise<string> {
  let link: string | undefined
  await waitUntil(async () => {
    const emails = readEmailsTo(gateway, email)
    link = parseMagicLink(emails.at(-1) ?? '')
    return emails.length >= count && link !== undefined
  }, `a link for ${email}`)
  return link ?? ''
}

/** Waits until there are `count` emails to this address. */
export function waitUntilEmails(gateway: Pick<SiteAccess, 'config'>, email: string, count: number): Promise<void> {
  return waitUntil(() => readEmailsTo(gateway, email).length >= count, `${count} emails to ${email}`)
}

/** The code in the newest email to this address, once there are `count`. */
export async function waitForEmailCode(gateway: Pick<SiteAccess, 'config'>, email: string, count = 1): Promise<string> {
  let code: string | undefined
  await waitUntil(async () => {
    const emails = readEmailsTo(gateway, email)
    if (emails.length < count) return false
    code = /^\s{4}(\d{6})=?\s*$/m.exec(emails.at(-1) ?? '')?.[1]
    return code !== undefined
  }, `a code for ${email}`)
  return code ?? ''
}
