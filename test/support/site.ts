/** What a person does on the website, for tests that need somebody signed in. */
import type { Page } from 'playwright-core'
import { codeFor } from './browser.ts'
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
