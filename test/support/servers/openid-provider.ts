/** A real OpenID provider on loopback whose users sign in without a prompt; the tests check the client side of the protocol. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface ProviderUser {
  /** A provider may send claims of a wrong type. */
  readonly email?: unknown
  readonly email_verified?: unknown
  readonly groups?: unknown
}

export interface OpenIdProvider {
  readonly issuer: string
  /** Follows the provider's pages like a browser, as this user; returns the final redirect address. */
  signIn(start: string, subject: string): Promise<string>
}

export const providerClient = { id: 'gateway', secret: 'a secret of tests alone' }

export async function startOpenIdProvider(
  t: Test,
  users: Readonly<Record<string, ProviderUser>>,
  redirectUri: () => string,
): Promise<OpenIdProvider> {
  const { default: Provider } = await import('oidc-provider')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: providerClient.id,
        client_secret: providerClient.secret,
        redirect_uris: [redirectUri()],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of tests alone'] },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...users[sub] }) }),
  })
  server.on('request', provider.callback())
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  )
  return { issuer, signIn: (start, subject) => completeSignIn(start, subject, issuer) }
}

/** The provider's development pages are forms: the first for sign-in, the next for consent. */
async function completeSignIn(start: string, subject: string, issuer: string): Promise<string> {
  const cookies = new Map<string, string>()
  let address = start
  let form: Record<string, string> | undefined
  for (let step = 0; step < 12; step++) {
    const response = await fetch(address, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    form = undefined
    const location = response.headers.get('location')
    if (location !== null) {
      address = new URL(location, address).href
      if (!address.startsWith(issuer)) return address
      continue
    }
    const page = await response.text()
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
    const action = /action="([^"]+)"/.exec(page)?.[1]
    if (prompt === undefined || action === undefined)
      throw new Error(`the provider showed an unexpected page: ${page.slice(0, 300)}`)
    address = new URL(action, address).href
    form = prompt === 'login' ? { prompt, login: subject, password: 'any' } : { prompt }
  }
  throw new Error('the provider did not come to an end')
}
