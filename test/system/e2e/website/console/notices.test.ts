/** Notices in a real browser: on a wide window and on a phone, in both languages, dismissed with a script and without. */
import t from 'tap'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../../support/website/page-checks.ts'
import { openSignedIn } from '../../../../support/website/sign-in.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('a reader sees notices on each page, and dismisses one without losing it', async (t) => {
    const gateway = await startGateway(t)
    const { notices } = gateway.services.membership
    const now = Date.now()
    const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: null } as const
    const long = `Answers of the large models are slow. Details: https://status.example.com/incidents/${'2026'.repeat(12)}.`
    for (const [kind, text] of [
      ['disturbance', { en: long, zh: null }],
      ['maintenance', { en: 'The disks are replaced.', zh: '更换硬盘。' }],
    ] as const)
      await notices.add({ kind, text, startsAt: now, endsAt: now + 7_200_000 }, author)
    const open = async (locale: string, options: object) => {
      const session = await openBrowserSession(browser, gateway.url, { locale, ...options })
      const client = await session.context.newCDPSession(session.page)
      return { ...session, client }
    }
    const wide = await open('en', { colorScheme: 'light' })
    const phone = await open('zh-CN', { colorScheme: 'dark', viewport: { width: 360, height: 740 }, hasTouch: true })
    await openSignedIn(wide.page, gateway, 'ann@example.com', '/account')
    await openSignedIn(phone.page, gateway, 'mei@example.com', '/account')
    for (const { page, client } of [wide, phone])
      for (const path of ['/', '/account', '/chat']) {
        await page.goto(path)
        t.equal(await page.locator('.announcement[open]').count(), 2, path)
        t.same(await findAccessibilityViolations(page), [], path)
        t.same(await findFaultsAtWidths(client), [], path)
      }
    t.equal(await phone.page.locator('.announcement-text').first().getAttribute('lang'), 'en')

    const { page } = wide
    await page.goto('/chat')
    await page.evaluate('document.marked = true')
    const kept = page.waitForResponse((response) => response.url().includes('dismiss='))
    await page.getByRole('link', { name: 'Dismiss' }).first().click()
    await kept
    t.equal(await page.evaluate('document.marked'), true, 'the page stays')
    t.equal(await page.locator('.announcement[open]').count(), 1)
    await page.goto('/account')
    t.equal(await page.locator('.announcement[open]').count(), 1, 'other pages have it folded')
    await page.locator('.announcement:not([open]) summary').click()
    t.ok(await page.getByText('Answers of the large models').isVisible())

    await phone.page.route('**/*.js', (route) => route.abort())
    await phone.page.goto('/account')
    await phone.page.getByRole('link', { name: '收起' }).first().click()
    await phone.page.waitForURL((url) => !url.search.includes('dismiss'))
    t.equal(await phone.page.locator('.announcement[open]').count(), 1)
    for (const { context, problems } of [wide, phone]) {
      t.same(problems, [])
      await context.close()
    }
  })
