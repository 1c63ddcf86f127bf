/** A member's journeys by links and forms alone, in a browser whose scripts are off, on a phone and on a wide screen. */
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { findFaultsAtWidths } from '../../support/website/page-checks.ts'
import { openBrowserSession, openChromium } from '../../support/website/chromium.ts'
import { openSignedIn } from '../../support/website/sign-in.ts'

interface Journey {
  readonly gateway: TestGateway
  readonly page: Page
  /** Every line and table of the page is whole from 320 to 1280 pixels. */
  readonly checkWidths: (what: string) => Promise<void>
}

const browser = await openChromium(t)
if (browser !== undefined) for (const width of [360, 1280]) runJourneys(browser, width)

function runJourneys(browser: Browser, width: number): void {
  const test = (title: string, path: string, run: (t: Test, journey: Journey) => Promise<void>): void => {
    t.test(`${title}, at ${width} pixels`, async (t) => {
      const gateway = await startGateway(t)
      const viewport = { width, height: 740 }
      const { page, context, problems } = await openBrowserSession(browser, gateway.url, { javaScriptEnabled: false, viewport })
      t.teardown(() => context.close())
      const session = await context.newCDPSession(page)
      const checkWidths = async (what: string): Promise<void> => {
        t.same(await findFaultsAtWidths(session, [320, 360, 768, 1280]), [], what)
      }
      await openSignedIn(page, gateway, 'mei@example.com', path)
      t.equal(await page.locator('noscript').count(), 0, 'the page needs no script')
      await run(t, { gateway, page, checkWidths })
      t.same(problems, [])
    })
  }

  test('makes, renames and revokes a key', '/keys', async (t, { gateway, page, checkWidths }) => {
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Fill in this field.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('laptop')
    await page.getByLabel('Expires').selectOption('In 90 days')
    await page.getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('region', { name: 'Key', exact: true })
    const token = (await shown.textContent()) ?? ''
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'the key works')
    t.equal(await shown.evaluate((node) => node.scrollWidth <= node.clientWidth), true, 'the key is whole')
    await page.getByText('Claude Code', { exact: true }).click()
    t.match(await page.getByRole('region', { name: '~/.claude/settings.json' }).textContent(), token)
    await checkWidths('a new key')
    await page.reload()
    await page.getByText('This key was created before').waitFor()
    t.notMatch(await page.content(), token)
    t.equal(await page.locator('.key-row').count(), 1, 'a reload makes no second key')
    await page.goto('/keys')
    await page.getByLabel('Rename the key laptop').first().click()
    await checkWidths('the question')
    await page.getByRole('dialog').getByLabel('Name').fill('x'.repeat(64))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The key has its new name.').waitFor()
    await page.goBack()
    await page.goForward()
    await page.reload()
    await page
      .getByLabel(/^Revoke the key x+$/)
      .first()
      .click()
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page
      .getByLabel(/^Revoke the key x+$/)
      .first()
      .click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked.').waitFor()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 401)
    await checkWidths('the list')
  })
}
