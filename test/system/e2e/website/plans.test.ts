/** The way of a visitor who chooses a plan. `test/system/pages/every-page.test.ts` has the page at every width. */
import t from 'tap'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { signInByCode } from '../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) {
  t.test('a visitor who chooses a size of a plan comes back to it after signing up', async (t) => {
    const gateway = await startGateway(t, { site: { contactUrl: 'mailto:team@example.com' } })
    const { page, context } = await openBrowserSession(browser, gateway.url)
    await page.goto('/plans')
    t.equal(await page.getByRole('link', { name: 'Choose Max 20×' }).count(), 0, 'one size is shown at a time')
    await page.getByRole('radio', { name: '20×' }).check()
    const choice = page.getByRole('link', { name: 'Choose Max 20×' })
    t.match(await page.locator('.plan:has(.sizes) .offer:visible').innerText(), '$39')
    await signInByCode(page, gateway, 'new@example.com', (await choice.getAttribute('href')) ?? '')
    t.match(page.url(), /\/plans\?plan=max-20x$/)
    t.match(
      await page.getByRole('link', { name: 'Upgrade to Max 20×' }).getAttribute('href'),
      /^mailto:team@example\.com\?subject=/,
    )
    t.match(await page.getByRole('article', { name: 'Free' }).innerText(), 'Your plan')
    await context.close()
  })
}
