import type { Browser } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { openChromium, visitor } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { client, startProvider } from '../support/openid-provider.ts'

const browser = await openChromium(t)
if (browser !== undefined) journeys(browser)

function journeys(browser: Browser): void {
  t.test('sign in with a provider, through its own pages, and come back to where one wanted to go', async (t) => {
    const { page } = await atSignIn(t, browser, '/sign-in?next=/keys')
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await page.getByPlaceholder('Enter any login').fill('anna')
    await page.getByPlaceholder('and password').fill('anything')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await Promise.all([page.waitForURL('**/keys'), page.getByRole('button', { name: 'Continue' }).click()])
    await page.goto('/account')
    await page.getByText('anna@example.com', { exact: true }).waitFor()
    await page.goto('/sessions')
    await page.getByText('this one').waitFor()
  })

  t.test('an address the provider has not verified is told what to do instead', async (t) => {
    const { page, url } = await atSignIn(t, browser, '/sign-in')
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

async function atSignIn(t: Test, browser: Browser, path: string) {
  const people = {
    anna: { email: 'anna@example.com', email_verified: true },
    ben: { email: 'ben@example.com', email_verified: false },
  }
  // The provider must know our address before we are told its own: the port is chosen first.
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await startProvider(t, people, () => `${url}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    listen: { port },
    signIn: {
      providers: { acme: { name: 'Acme', issuer: provider.issuer, clientId: client.id, clientSecret: client.secret } },
    },
  })
  const { page, context } = await visitor(browser, gateway.url)
  t.teardown(() => context.close())
  // The provider's development pages ask the web for a typeface; tests ask nobody outside.
  await context.route(/^https?:\/\/(?!127\.0\.0\.1[:/])/, (route) => route.abort())
  await page.goto(path)
  return { page, url }
}
