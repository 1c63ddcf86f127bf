/** The official client, given nothing but the tool server's address, and a member with a browser. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import type { OAuthClientProvider, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { Browser } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { barriers, openChromium, visitor } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { signInByCode } from '../support/site.ts'

const browser = await openChromium(t)
if (browser !== undefined) journeys(browser)

/** What a program on somebody's computer keeps, and the address that it listens on. */
class Keeper implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly asked: URL[] = []
  #client: StoredOAuthClientInformation | undefined
  #tokens: StoredOAuthTokens | undefined
  #verifier = ''

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl
  }

  get clientMetadata() {
    return {
      client_name: 'Notebook <b>7</b>',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
    }
  }
  clientInformation() {
    return this.#client
  }
  saveClientInformation(client: StoredOAuthClientInformation) {
    this.#client = client
  }
  tokens() {
    return this.#tokens
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.#tokens = tokens
  }
  redirectToAuthorization(url: URL) {
    this.asked.push(url)
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }
  codeVerifier() {
    return this.#verifier
  }
  invalidateCredentials() {
    this.#tokens = undefined
  }
}

/** Listens as a program does; resolves with what the browser brings. */
async function listener(t: Test): Promise<{ address: string; brought: Promise<URLSearchParams> }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const brought = new Promise<URLSearchParams>((resolve) => {
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '', address)
      response.end('Done. You can close this page.')
      if (url.pathname === '/callback') resolve(url.searchParams)
    })
  })
  return { address, brought }
}

function journeys(browser: Browser): void {
  t.test('a program is let in on the website, searches, renews its token, and is put out again', async (t) => {
    const port = await freePort()
    const site = `http://localhost:${port}`
    const gateway = await startGateway(t, {
      brand: { slug: 'acme', name: 'Acme' },
      listen: { port, siteUrl: site, baseUrl: `http://127.0.0.1:${port}` },
    })
    const { address, brought } = await listener(t)
    const keeper = new Keeper(address)
    const open = () => new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/v1/mcp`), { authProvider: keeper })
    const first = open()
    await t.rejects(new Client({ name: 'notebook', version: '1' }).connect(first), UnauthorizedError)
    const [asked] = keeper.asked
    t.equal(asked?.origin, site, 'members sign in on the site, whatever the address of the API')

    const { page, context, problems } = await visitor(browser, site, {
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
    })
    t.teardown(() => context.close())
    await page.goto(asked?.href ?? '')
    t.match(page.url(), `${site}/sign-in?next=`, 'who is not signed in signs in first')
    await signInByCode(page, gateway, 'mei@example.com', page.url())
    t.match(page.url(), `${site}/connect/`, 'and is led back')
    await page.getByRole('heading', { name: 'Let “Notebook <b>7</b>” use the web search?' }).waitFor()
    for (const fact of [
      'mei@example.com',
      new URL(address).host,
      'a program on this computer',
      'until you end it under Sessions',
    ])
      t.ok(await page.getByText(fact).first().isVisible(), `shows ${fact}`)
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= 360'), 'fits a phone')
    t.same(await barriers(page), [])
    const [approve, deny] = await Promise.all(
      ['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }).boundingBox()),
    )
    t.same([deny?.width, deny?.height], [approve?.width, approve?.height], 'Deny is as prominent as Approve')
    t.same(problems, [])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const answer = await brought
    await page.waitForURL(`${address}?*`)
    t.equal(answer.get('iss'), site)
    await first.finishAuth(answer)

    const client = new Client({ name: 'notebook', version: '1' })
    await client.connect(open())
    t.teardown(() => client.close())
    t.same(
      (await client.listTools()).tools.map(({ name }) => name),
      ['web_search'],
    )
    t.notOk((await client.callTool({ name: 'web_search', arguments: { query: 'tides' } })).isError)

    // As if an hour had gone by: the token is worth nothing, and the client renews it by itself.
    const old = keeper.tokens()
    keeper.saveTokens({ ...old, access_token: 'acme_mcp_over', token_type: 'Bearer' })
    t.notOk((await client.callTool({ name: 'web_search', arguments: { query: 'moon' } })).isError)
    t.not(keeper.tokens()?.refresh_token, old?.refresh_token)
    t.match(keeper.tokens()?.access_token, /^acme_mcp_[\w-]{43}$/)
    t.equal(keeper.asked.length, 1, 'without asking anybody')

    await page.goto('/sessions')
    await page.getByText('Program approved').waitFor()
    await page.getByRole('button', { name: 'End the session Notebook <b>7</b>' }).click()
    await page.getByText('The session has ended.').waitFor()
    await t.rejects(client.callTool({ name: 'web_search', arguments: { query: 'tides' } }), UnauthorizedError)
  })
}
