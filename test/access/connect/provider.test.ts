import t from 'tap'
import { openProvider } from '../../../src/access/connect/provider.ts'
import { startGateway } from '../../support/gateway.ts'

t.test('a program may be known by an address of its own, at which it says what it is', async (t) => {
  const { services } = await startGateway(t)
  const documents: Record<string, Record<string, unknown>> = {
    '/mcp.json': { client_name: 'Editor', redirect_uris: ['http://localhost/callback'] },
    '/plain-http.json': { redirect_uris: ['http://intranet.example/callback'] },
    '/other.json': { client_id: 'https://client.example/mcp.json', redirect_uris: ['https://client.example/callback'] },
    '/secret.json': { token_endpoint_auth_method: 'client_secret_post', redirect_uris: ['https://client.example/callback'] },
  }
  const asked: string[] = []
  const provider = openProvider(services, {
    show: async () => undefined,
    fetch: async (address) => {
      const url = new URL(String(address))
      asked.push(url.pathname)
      return Response.json({ client_id: url.href, ...documents[url.pathname] })
    },
  })
  const find = (path: string) => provider.Client.find(`https://client.example${path}`)
  const client = await find('/mcp.json')
  t.match(client, { clientName: 'Editor', clientAuthMethod: 'none' })
  t.ok(client?.redirectUriAllowed('http://localhost:4000/callback'), 'its port does not count on this machine')
  t.notOk(client?.redirectUriAllowed('http://127.0.0.1:4000/callback'))
  await find('/mcp.json')
  t.same(asked, ['/mcp.json'], 'asked once and remembered')
  await t.rejects(find('/plain-http.json'), /^invalid_client$/, 'answers go nowhere in the clear')
  await t.rejects(find('/other.json'), /^invalid_client_metadata$/, 'nobody speaks for another')
  await t.rejects(find('/secret.json'), /^invalid_client_metadata$/)
})

t.test('such an address leads to the open internet alone', async (t) => {
  const { services } = await startGateway(t)
  const provider = openProvider(services, { show: async () => undefined })
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', 'localhost'])
    await t.rejects(provider.Client.find(`https://${host}/client.json`), /^invalid_client$/, host)
})
