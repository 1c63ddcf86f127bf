import type { Browser } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { openChromium, openBrowserSession } from '../../support/website/chromium.ts'
import { findFreePort } from '../../support/free-port.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { providerClient, startOpenIdProvider } from '../../support/servers/openid-provider.ts'

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  t.test('signs in with a provider through its own pages and returns to the requested page', async (t) => {
    const { page } = await openSignInPage(t, browser, '/sign-in?next=/keys')
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await page.getByPlaceholder('Enter any login').fill('anna')
    await page.getByPlaceholder('and password').fill('anything')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await Promise.all([page.waitForURL('**/keys'), page.getByRole('button', { name: 'Continue' }).click()])
    await page.goto('/account/profile')
    await page.getByRole('main').getByText('anna@example.com', { exact: true }).waitFor()
    await page.goto('/sessions')
    await page.getByText('this one').waitFor()
  })

  t.test('explains the alternative for an address that the provider has not verified', async (t) => {
    const { page, url } = await openSignInPage(t, browser, '/sign-in')
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await page.getByPlaceholder('Enter any login').fill('ben')
    await page.getByPlaceholder('and password').fill('anything')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL(`${url}/sign-in?error=*`)
    await page.getByRole('alert').getByText('The provider has not verified your address.').waitFor()
    t.equal((await page.request.get('/account', { maxRedirects: 0 })).status(), 303, 'nobody is signed in')
  })
}

async function openSignInPage(t: Test, browser: Browser, path: string) {
  const people = {
    anna: { email: 'anna@example.com', email_verified: true },
    ben: { email: 'ben@example.com', email_verified: false },
  }
  // The provider needs our address before we know its own: the port is chosen first.
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await startOpenIdProvider(t, people, () => `${url}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    listen: { port },
    signIn: {
      providers: {
        acme: { name: 'Acme', issuer: provider.issuer, clientId: providerClient.id, clientSecret: providerClient.secret },
      },
    },
  })
  const { page, context } = await openBrowserSession(browser, gateway.url)
  t.teardown(() => context.close())
  // The provider's development pages load a web font; tests connect to no outside host.
  await context.route(/^https?:\/\/(?!127\.0\.0\.1[:/])/, (route) => route.abort())
  await page.goto(path)
  return { page, url }
}
