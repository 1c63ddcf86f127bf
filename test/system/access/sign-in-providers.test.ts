/** When the metadata of a provider is read again, how the secret is sent, and how a provider's failure reads. */
import t from 'tap'
import { describeProviderError, findClientFault, ProviderClients } from '../../../src/access/sign-in-providers.ts'
import { startScriptedOpenIdProvider } from '../../support/servers/scripted-openid-provider.ts'

const hourMs = 3_600_000
const settings = {
  name: 'Acme',
  clientId: 'gate',
  clientSecret: 'secret-0123',
  clientAuth: 'auto' as const,
  scopes: ['openid'],
  endSession: false,
  groups: null,
}

t.test('reads the metadata again after an hour, after a failure, and after a failed sign-in', async (t) => {
  const provider = await startScriptedOpenIdProvider(t, 'gate')
  let now = 0
  const clients = new ProviderClients({ acme: { ...settings, issuer: provider.issuer } }, { monotonicMs: () => now })
  const readName = async (): Promise<unknown> => (await clients.get('acme')).serverMetadata()['name']
  provider.metadata = { name: 'one' }
  const [first, second] = await Promise.all([clients.get('acme'), clients.get('acme')])
  t.equal(first, second, 'requests at the same time share one')
  provider.metadata = { name: 'two' }
  now += hourMs - 1
  t.equal(await readName(), 'one')
  now += 1
  t.equal(await readName(), 'two')
  provider.metadata = { name: 'three' }
  const url = new URL(`${provider.issuer}/callback?code=x&state=s`)
  provider.answers.set('/token', (_, response) => void response.writeHead(400).end())
  await t.rejects(clients.exchangeCode('acme', url, { verifier: 'v', nonce: 'n', state: 's' }))
  t.equal(await readName(), 'three')
  now += hourMs
  provider.answers.set('/.well-known/openid-configuration', (_, response) => void response.writeHead(500).end())
  await t.rejects(readName())
  provider.answers.clear()
  t.equal(await readName(), 'three', 'a failure is not kept')
})

t.test('uses no metadata whose endpoints are missing or no web addresses', async (t) => {
  const provider = await startScriptedOpenIdProvider(t, 'gate')
  for (const [name, value] of [
    ['authorization_endpoint', undefined],
    ['authorization_endpoint', 5],
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['token_endpoint', {}],
    ['token_endpoint', undefined],
    ['jwks_uri', 'keys'],
    ['userinfo_endpoint', null],
    ['end_session_endpoint', 'data:text/html,x'],
  ] as const) {
    provider.metadata = { [name]: value }
    const clients = new ProviderClients({ acme: { ...settings, issuer: provider.issuer } }, { monotonicMs: () => 0 })
    await t.rejects(
      clients.get('acme'),
      { message: `the provider's metadata has no usable ${name}` },
      `${name}: ${String(value)}`,
    )
  }
})

t.test('sends the secret in the way that the provider accepts or the operator names', async (t) => {
  for (const [clientAuth, supported, inBody] of [
    ['auto', undefined, false],
    ['auto', ['client_secret_basic', 'client_secret_post'], false],
    ['auto', ['client_secret_post', 'private_key_jwt'], true],
    ['client_secret_post', ['client_secret_basic'], true],
    ['client_secret_basic', ['client_secret_post'], false],
  ] as const) {
    const provider = await startScriptedOpenIdProvider(t, 'gate')
    provider.metadata = { token_endpoint_auth_methods_supported: supported }
    t.equal(await findClientFault({ ...settings, clientAuth, issuer: provider.issuer }, 'http://127.0.0.1/callback'), null)
    const [request] = provider.tokenRequests
    t.equal(request?.body.includes('client_secret=secret-0123'), inBody, `${clientAuth}, ${supported?.join()}`)
    t.equal(request?.authorization === null, inBody)
  }
})

t.test('describes a failure in one printable line', async (t) => {
  const plain = Object.assign(new Error('x'), { error: 'invalid_grant', error_description: 'no\r\n\u202Ecode', status: 400 })
  t.equal(describeProviderError(plain), 'invalid_grant (no code), HTTP 400')
  t.equal(describeProviderError(new Error('fetch failed', { cause: { error: 'x' } })), 'fetch failed')
  t.equal(describeProviderError(new Error('fetch failed', { cause: new Error('no', { cause: {} }) })), 'fetch failed: no')
  t.equal(describeProviderError({ error: 'x' }), 'unknown failure')
  t.equal(describeProviderError(new Error('x'.repeat(10_000))).length, 200)
})
