/** `examples/openid-connect` with a real OpenID Connect provider. */
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../support/free-port.ts'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'
import { providerClient, startOpenIdProvider } from '../../support/servers/openid-provider.ts'

t.test('a member of the domain signs in with the provider, and a stranger is refused', async (t) => {
  // The provider must know the callback before it tells its own address.
  const port = await findFreePort()
  const users = {
    anna: { email: 'anna@example.com', email_verified: true },
    eve: { email: 'eve@elsewhere.example', email_verified: true },
  }
  const callback = `http://127.0.0.1:${port}/api/membership/auth/oauth/acme/callback`
  const provider = await startOpenIdProvider(t, users, () => callback)
  const server = await startServerProcess(t, {
    GATEWAY_CONFIG: join(checkoutRoot, 'examples/openid-connect/openid-connect.config.ts'),
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: providerClient.id,
    OIDC_CLIENT_SECRET: providerClient.secret,
    PORT: String(port),
    DATA_DIR: t.testdir(),
  })
  t.not(server.url, '', server.log())

  const signIn = async (subject: string): Promise<{ readonly location: string | null; readonly session: number }> => {
    const started = await fetch(`${server.url}/api/membership/auth/oauth/acme/start`, { redirect: 'manual' })
    const cookies = started.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
    const back = await provider.signIn(started.headers.get('location') ?? '', subject)
    const ended = await fetch(back, { redirect: 'manual', headers: { cookie: cookies.join('; ') } })
    cookies.push(...ended.headers.getSetCookie().map((cookie) => cookie.split(';')[0]))
    const session = await fetch(`${server.url}/api/membership/auth/session`, { headers: { cookie: cookies.join('; ') } })
    return { location: ended.headers.get('location'), session: session.status }
  }
  t.same(await signIn('anna'), { location: '/account', session: 200 })
  const { location, session } = await signIn('eve')
  t.match(location, /^\/sign-in\?error=sign_up_closed/)
  t.equal(session, 401)
})
