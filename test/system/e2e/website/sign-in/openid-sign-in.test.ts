import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import {
  chromiumPrograms,
  findAccessibilityViolations,
  launchChromium,
  openBrowserSession,
  openChromium,
} from '../../../../support/website/chromium.ts'
import { openSignedIn, signInByCode } from '../../../../support/website/sign-in.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { waitForEmailCode } from '../../../../support/gateway/website-client.ts'
import { providerClient, startOpenIdProvider } from '../../../../support/servers/openid-provider.ts'

const phone = { viewport: { width: 360, height: 740 } }

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  t.test('signs in with a provider through its own pages and returns to the requested page', async (t) => {
    const { page } = await openSignInPage(t, browser, '/sign-in?next=/keys')
    await signInAtProvider(page, 'anna')
    await page.waitForURL('**/keys')
    await page.goto('/account/profile')
    await page.getByRole('main').getByText('anna@example.com', { exact: true }).waitFor()
    await page.goto('/sessions')
    await page.getByText('this one').waitFor()
  })

  t.test('explains the alternative for an address that the provider has not verified', async (t) => {
    const { page, url } = await openSignInPage(t, browser, '/sign-in')
    await signInAtProvider(page, 'ben')
    await page.waitForURL(`${url}/sign-in?error=*`)
    await page.getByRole('alert').getByText('The provider has not verified your address.').waitFor()
    t.equal((await page.request.get('/account', { maxRedirects: 0 })).status(), 303, 'no member is signed in')
  })

  t.test('a member takes the address that has changed at the provider, on a phone', async (t) => {
    const { page, gateway, people, problems } = await openSignInPage(t, browser, '/sign-in', phone)
    await signInAtProvider(page, 'anna')
    await page.waitForURL('**/account')
    await page.context().clearCookies()
    people.anna.email = 'anna@new.example'
    await page.goto('/sign-in')
    await signInAtProvider(page, 'anna')
    await page.waitForURL('**/account/security?offer=*')
    await page.getByText('Your provider now gives anna@new.example as your address.').waitFor()
    await checkPhone(t, page)
    t.equal(await page.getByLabel('New email address').inputValue(), 'anna@new.example')
    await page.getByRole('button', { name: 'Send a code there' }).click()
    await page.getByText('A code was sent to anna@new.example').waitFor()
    const code = await waitForEmailCode(gateway, 'anna@new.example')
    const form = page.locator('form', { hasText: 'Change the address' })
    await form.getByLabel('Code from the email').fill(code === '000000' ? '000001' : '000000')
    await form.getByRole('button', { name: 'Change the address' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel('Code from the email').fill(`${code.slice(0, 3)} ${code.slice(3)}`)
    await form.getByRole('button', { name: 'Change the address' }).click()
    await page.getByRole('status').getByText('Your account has the new address now.').waitFor()
    await checkPhone(t, page)
    t.equal(await gateway.services.store.accounts.find('anna@example.com'), undefined)
    t.same(
      problems.filter((problem) => !problem.startsWith('left the site')),
      [],
    )
  })

  t.test('tells a second person with the address of another what to do, on a phone', async (t) => {
    const { page, url, people } = await openSignInPage(t, browser, '/sign-in', phone)
    await signInAtProvider(page, 'anna')
    await page.waitForURL('**/account')
    await page.context().clearCookies()
    people.ben = people.anna
    await page.goto('/sign-in')
    await signInAtProvider(page, 'ben')
    await page.waitForURL(`${url}/sign-in?error=linked_elsewhere`)
    await page.getByRole('alert').getByText('is linked to another person at this provider').waitFor()
    await checkPhone(t, page)
    t.equal((await page.request.get('/account', { maxRedirects: 0 })).status(), 303, 'no member is signed in')
  })

  t.test('asks a member whom a page of another site sends to a provider', async (t) => {
    const { page, url, gateway } = await openSignInPage(t, browser, '/sign-in', phone)
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    const start = `${url}/api/membership/auth/oauth/acme/start`
    const foreign = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(`<a href="${start}">A prize</a>`),
    )
    foreign.listen(0, '127.0.0.1')
    await once(foreign, 'listening')
    t.teardown(() => foreign.close())
    // Another site to the browser, at the same address.
    await page.context().unrouteAll()
    await page.goto(`http://localhost:${(foreign.address() as AddressInfo).port}`)
    await page.getByRole('link', { name: 'A prize' }).click()
    await page.getByText('You are signed in as mei@example.com.').waitFor()
    await checkPhone(t, page)
    t.equal((await page.request.get('/account', { maxRedirects: 0 })).status(), 200, 'still signed in')
    await page.getByRole('link', { name: 'Continue with Acme' }).click()
    await page.getByPlaceholder('Enter any login').waitFor()
  })

  t.test('signs in over plain http under a name', async (t) => {
    const program = requireProgram(t, ...chromiumPrograms)
    if (program === undefined) return
    const port = await findFreePort()
    const site = `http://gateway.lan:${port}`
    const gateway = await startGateway(t, { listen: { port, siteUrl: site } })
    const lan = await launchChromium(program, ['--host-resolver-rules=MAP gateway.lan 127.0.0.1'])
    t.teardown(() => lan.close())
    const { page, problems } = await openBrowserSession(lan, site)
    await signInByCode(page, gateway, 'mei@example.com')
    await page.waitForURL(`${site}/account`)
    t.equal(await page.evaluate('isSecureContext'), false)
    await page.goto('/chat')
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
    await page.keyboard.press('Enter')
    await page.locator('.theirs').getByRole('button', { name: 'Copy' }).click()
    t.not(await page.evaluate('getSelection().toString()'), '', 'without a clipboard the answer is selected')
    // Browsers keep this header for https and say so.
    t.same(
      problems.filter((problem) => !problem.startsWith('The Cross-Origin-Opener-Policy header has been ignored')),
      [],
    )
  })
}

/** Through the pages of the provider. */
async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: 'Continue with Acme' }).click()
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('anything')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

async function checkPhone(t: Test, page: Page): Promise<void> {
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing scrolls sideways')
  t.same(await findAccessibilityViolations(page), [])
}

async function openSignInPage(t: Test, browser: Browser, path: string, options: BrowserContextOptions = {}) {
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
  const { page, context, problems } = await openBrowserSession(browser, gateway.url, options)
  t.teardown(() => context.close())
  // The provider's development pages load a web font; tests connect to no outside host.
  await context.route(/^https?:\/\/(?!127\.0\.0\.1[:/])/, (route) => route.abort())
  await page.goto(path)
  return { page, url, gateway, people, problems }
}
