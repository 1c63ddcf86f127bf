/** A browser as far as membership is concerned: it keeps cookies and says that its requests come from the site's own pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestGateway } from './gateway.ts'
import { until } from './gateway.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Answers are read field by field by assertions; their shapes are what the tests are about.
  // eslint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #gateway: Pick<TestGateway, 'url' | 'config'>
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    gateway: Pick<TestGateway, 'url' | 'config'>,
    headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
  ) {
    this.#gateway = gateway
    this.#headers = headers
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('POST', path, body, headers)
  }

  delete(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('DELETE', path, undefined, headers)
  }

  /** `path` is under `/api/membership`, or a whole address. */
  async send(method: string, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
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
    this.#keep(response.headers)
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** By mail code, as a person does it; returns the answer to the code. */
  async signIn(email: string, extra: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const before = lettersTo(this.#gateway, email).length
    const asked = await this.post('auth/otp/start', { email })
    if (asked.status !== 200) throw new Error(`no code was sent: ${JSON.stringify(asked.body)}`)
    const code = await codeFor(this.#gateway, email, before + 1)
    const answer = await this.post('auth/otp/verify', { email, code, ...extra })
    if (answer.status !== 200) throw new Error(`the code was refused: ${JSON.stringify(answer.body)}`)
    return answer
  }

  #keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (value === '' || attributes.some((attribute) => /^\s*max-age=0$/i.test(attribute))) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

/** The letters in the outbox to this address, oldest first. */
export function lettersTo({ config }: Pick<TestGateway, 'config'>, email: string): string[] {
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
    .filter((letter) => letter.toLowerCase().includes(`to: ${email.toLowerCase()}`))
}

/** The link of the newest letter to this address, once there are `count`: the word it ends in. */
export async function linkFor(gateway: Pick<TestGateway, 'config'>, email: string, count = 1): Promise<string> {
  let link: string | undefined
  await until(async () => {
    const letters = lettersTo(gateway, email)
    // Long lines are broken for the way, with an equals sign at their end.
    link = /\/sign-in\/link#([\w-]{43})/.exec((letters.at(-1) ?? '').replaceAll(/=\r?\n/g, ''))?.[1]
    return letters.length >= count && link !== undefined
  }, `a link for ${email}`)
  return link ?? ''
}

/** The newest code mailed to this address, once there are `count` letters. */
export async function codeFor(gateway: Pick<TestGateway, 'config'>, email: string, count = 1): Promise<string> {
  let code: string | undefined
  await until(async () => {
    const letters = lettersTo(gateway, email)
    if (letters.length < count) return false
    code = /^\s{4}(\d{6})=?\s*$/m.exec(letters.at(-1) ?? '')?.[1]
    return code !== undefined
  }, `a code for ${email}`)
  return code ?? ''
}
