import t from 'tap'
import { createProvider } from '../../../../src/access/oauth/provider.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('accepts a client id metadata document', async (t) => {
  const { services } = await startGateway(t)
  const documents: Record<string, Record<string, unknown>> = {
    '/mcp.json': { client_name: 'Editor', redirect_uris: ['http://localhost/callback'] },
    '/plain-http.json': { redirect_uris: ['http://intranet.example/callback'] },
    '/other.json': { client_id: 'https://client.example/mcp.json', redirect_uris: ['https://client.example/callback'] },
    '/secret.json': { token_endpoint_auth_method: 'client_secret_post', redirect_uris: ['https://client.example/callback'] },
  }
  const fetched: string[] = []
  const provider = createProvider(services, {
    renderError: async () => undefined,
    fetch: async (address) => {
      const url = new URL(String(address))
      fetched.push(url.pathname)
      return Response.json({ client_id: url.href, ...documents[url.pathname] })
    },
  })
  const find = (path: string) => provider.Client.find(`https://client.example${path}`)
  const client = await find('/mcp.json')
  t.match(client, { clientName: 'Editor', clientAuthMethod: 'none' })
  t.ok(client?.redirectUriAllowed('http://localhost:4000/callback'), 'the port of a loopback address is ignored')
  t.notOk(client?.redirectUriAllowed('http://127.0.0.1:4000/callback'))
  await find('/mcp.json')
  t.same(fetched, ['/mcp.json'], 'fetched once and cached')
  await t.rejects(find('/plain-http.json'), /^invalid_client$/, 'a redirect to plain http is refused')
  await t.rejects(find('/other.json'), /^invalid_client_metadata$/, 'a document with another client id is refused')
  await t.rejects(find('/secret.json'), /^invalid_client_metadata$/)
})

t.test('fetches metadata documents from public addresses only', async (t) => {
  const { services } = await startGateway(t)
  const provider = createProvider(services, { renderError: async () => undefined })
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', 'localhost'])
    await t.rejects(provider.Client.find(`https://${host}/client.json`), /^invalid_client$/, host)
})
