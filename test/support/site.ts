/** What a person does on the website, for tests that need somebody signed in. */
import type { Page } from 'playwright-core'
import { Browser, codeFor } from './browser.ts'
import type { TestGateway } from './gateway.ts'

/** Signs in by mail code, from the sign-in page to where it leads. */
export async function signInByCode(
  page: Page,
  gateway: Pick<TestGateway, 'config'>,
  email: string,
  at = '/sign-in',
): Promise<void> {
  await page.goto(at)
  await page.getByRole('tabpanel', { name: 'Email code' }).getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send me a code' }).click()
  const field = page.getByRole('textbox', { name: 'Code from the mail' })
  await field.waitFor()
  await field.fill(await codeFor(gateway, email))
  await Promise.all([
    page.waitForURL((url) => url.pathname !== '/sign-in'),
    page.getByRole('button', { name: 'Continue', exact: true }).click(),
  ])
}

/** Somebody who is signed in already, where signing in is not the matter: their cookies, and the page they came for. */
export async function openAs(page: Page, gateway: TestGateway, email: string, at: string): Promise<void> {
  const member = new Browser(gateway)
  await member.signIn(email)
  await page.context().addCookies([...member.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
  await page.goto(at)
}
