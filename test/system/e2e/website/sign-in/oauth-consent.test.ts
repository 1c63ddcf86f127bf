/** The official MCP client with only the tool server's address, and a member with a browser. */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import type { OAuthClientProvider, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { findAccessibilityViolations, openChromium, openBrowserSession } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../../support/website/page-checks.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { startCallbackListener } from '../../../../support/website/callback-listener.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { openSignedIn, signInByCode } from '../../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

/** The stored state of a program on a member's computer, and the address that it listens on. */
class OAuthClientStore implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly authorizationUrls: URL[] = []
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
    this.authorizationUrls.push(url)
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

function runJourneys(browser: Browser): void {
  t.test('a program is approved on the website, searches, refreshes its token and is revoked', async (t) => {
    const port = await findFreePort()
    const site = `http://localhost:${port}`
    const gateway = await startGateway(t, {
      brand: { slug: 'acme', name: 'Acme' },
      listen: { port, siteUrl: site, baseUrl: `http://127.0.0.1:${port}` },
    })
    const { address, callbackParams } = await startCallbackListener(t)
    const keeper = new OAuthClientStore(address)
    const open = () => new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/v1/mcp`), { authProvider: keeper })
    const first = open()
    await t.rejects(new Client({ name: 'notebook', version: '1' }).connect(first), UnauthorizedError)
    const [asked] = keeper.authorizationUrls
    t.equal(asked?.origin, site, 'members sign in on the site, whatever the address of the API')

    const { page, context, problems } = await openBrowserSession(browser, site, {
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
    })
    t.teardown(() => context.close())
    await page.goto(asked?.href ?? '')
    t.match(page.url(), `${site}/sign-in?next=`, 'who is not signed in signs in first')
    await signInByCode(page, gateway, 'mei@example.com', page.url())
    t.match(page.url(), `${site}/connect/`, 'and is led back')
    await page.getByRole('heading', { name: 'Let this program use the web search?' }).waitFor()
    t.match(await page.locator('.own-words').innerText(), /says about itself, unchecked\s+Name\s+“Notebook <b>7<\/b>”/)
    for (const fact of [
      'mei@example.com',
      new URL(address).host,
      'a program on this computer',
      'until you end it under Sessions',
    ])
      t.ok(await page.getByRole('main').getByText(fact).first().isVisible(), `shows ${fact}`)
    t.same(await findAccessibilityViolations(page), [])
    t.same(await findFaultsAtWidths(await context.newCDPSession(page)), [])
    const [approve, deny] = await Promise.all(
      ['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }).boundingBox()),
    )
    t.same([deny?.width, deny?.height], [approve?.width, approve?.height], 'Deny is as prominent as Approve')
    t.same(problems, [])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const answer = await callbackParams
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

    // As if an hour had passed: the token has expired, and the client refreshes it.
    const old = keeper.tokens()
    keeper.saveTokens({ ...old, access_token: 'acme_mcp_over', token_type: 'Bearer' })
    t.notOk((await client.callTool({ name: 'web_search', arguments: { query: 'moon' } })).isError)
    t.not(keeper.tokens()?.refresh_token, old?.refresh_token)
    t.match(keeper.tokens()?.access_token, /^acme_mcp_[\w-]{43}$/)
    t.equal(keeper.authorizationUrls.length, 1, 'without asking anybody')

    await page.goto('/sessions')
    await page.getByText('Program approved').waitFor()
    await page.getByRole('button', { name: 'End the session Notebook <b>7</b>' }).click()
    await page.getByText('The session has ended.').waitFor()
    await t.rejects(client.callTool({ name: 'web_search', arguments: { query: 'tides' } }), UnauthorizedError)
  })

  t.test('a long name of a program widens no page and hides no button', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url, { viewport: { width: 360, height: 740 } })
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    const redirect = 'http://127.0.0.1:9/callback'
    for (const [name, shown] of [
      ['W'.repeat(80), `“${'W'.repeat(59)}…”`],
      ['Notebook\u202e .devorppa\u2066\u200b Approved by Acme.', '“Notebook .devorppa Approved by Acme.”'],
      [`${'a'.repeat(30)}.${'b'.repeat(60)}`, `“${'a'.repeat(30)}.${'b'.repeat(28)}…”`],
    ] as const) {
      const registered = await fetch(`${gateway.url}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
      })
      const { client_id: id } = (await registered.json()) as { client_id: string }
      const params = new URLSearchParams({
        client_id: id,
        redirect_uri: redirect,
        response_type: 'code',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
        resource: `${gateway.url}/v1/mcp`,
      })
      await page.goto(`/oauth/authorize?${params}`)
      await page.getByRole('button', { name: 'Deny', exact: true }).waitFor()
      t.equal(await page.locator('.own-words dd').first().innerText(), shown)
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, 'the page is as wide as the screen')
      const box = await page.getByRole('button', { name: 'Deny', exact: true }).boundingBox()
      t.ok(box !== null && box.x >= 0 && box.x + box.width <= 360, 'Deny is on it')
    }
  })
}
