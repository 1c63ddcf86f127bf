/** A user's actions on the website, for tests that need a signed-in member. */
import type { Page } from 'playwright-core'
import { WebsiteClient, waitForEmailCode } from '../gateway/website-client.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'

/** Signs in by email code, from the sign-in page to the page it redirects to. */
export async function signInByCode(
  page: Page,
  gateway: Pick<TestGateway, 'config'>,
  email: string,
  path = '/sign-in',
): Promise<void> {
  await page.goto(path)
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send me a code' }).click()
  const field = page.getByRole('textbox', { name: 'Code from the email' })
  await field.waitFor()
  const code = await waitForEmailCode(gateway, email)
  // Six digits submit.
  await Promise.all([page.waitForURL((url) => url.pathname !== '/sign-in'), field.fill(code)])
}

/** Opens a page as a member who is already signed in, for tests of other pages than sign-in. */
export async function openSignedIn(page: Page, gateway: TestGateway, email: string, path: string): Promise<void> {
  const client = new WebsiteClient(gateway)
  await client.signIn(email)
  await page.context().addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
  await page.goto(path)
}

/** Presses the button in the account menu of a wide window. */
export async function pressSignOut(page: Page): Promise<void> {
  await page.getByLabel('Your account', { exact: true }).click()
  await page.locator('.account-menu').getByRole('button', { name: 'Sign out' }).click()
}
