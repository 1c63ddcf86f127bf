/** The longest names and addresses widen no page and no email on a phone. */
import type { Browser } from 'playwright-core'
import t from 'tap'
import { hashPassword } from '../../../../src/domain/identity/passwords/password.ts'
import { renderDeviceEmail } from '../../../../src/mail/templates/email-templates.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../support/website/page-checks.ts'

const paths = [
  '/',
  '/account',
  '/account/boosts',
  '/account/security',
  '/account/profile',
  '/keys',
  '/sessions',
  '/device',
  '/chat',
]
const longWord = 'W'.repeat(60)
const longAddress = `${'w'.repeat(64)}@${'m'.repeat(63)}.${'m'.repeat(63)}.example.com`
const viewport = { width: 360, height: 740 }

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  t.test('the longest names and addresses widen no page', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { viewport })
    t.teardown(() => context.close())
    const member = new WebsiteClient(gateway)
    const { store, clock, ids, membership } = gateway.services
    const at = clock.now()
    const [account, password] = [ids.next('acc_', at), 'violet teapot orbit']
    const passwordHash = await hashPassword(password)
    await store.accounts.create({ id: account, email: longAddress, plan: 'free', passwordHash, emailVerified: true, at })
    t.equal((await member.post('auth/sign-in', { email: longAddress, password })).status, 200)
    const key = await member.post('auth/api-keys', { name: longWord })
    t.equal(key.status, 201)
    const { token } = key.body as { readonly token: string }
    await (await gateway.chat(token, { model: 'auto' })).text()
    const session = { account, address: null, createdAt: at, lastUsedAt: at, expiresAt: at + 86_400_000 }
    for (const [index, client] of [longWord, `svc-cli (${longWord})`, 'ا'.repeat(60), '汉'.repeat(60)].entries()) {
      const hash = new Uint8Array(32).fill(index + 1)
      await store.sessions.create({ ...session, id: `ses_${index}`, kind: 'cli', method: 'device', client, hash })
      await membership.writeAudit('device_signed_in', account, null, { client, hostname: client })
    }
    await context.addCookies([...member.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
    const devtools = await context.newCDPSession(page)
    const check = async (what: string) => t.same(await findFaultsAtWidths(devtools, [320, 360, 768]), [], what)
    for (const path of paths) {
      await page.goto(path)
      await page.waitForLoadState('networkidle')
      await check(path)
    }
    await page.getByRole('textbox', { name: 'Message' }).fill(longWord.repeat(3))
    await page.keyboard.press('Enter')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await check('a conversation with a long title')
    await page.goto('/account/security')
    await page.locator('summary', { hasText: 'Delete my account' }).click()
    await check('the question before a deletion')
    await context.clearCookies()
    await page.goto('/sign-in')
    await page.getByLabel('Email address').fill(longAddress)
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByRole('textbox', { name: 'Code from the email' }).waitFor()
    await check('the step after a code was sent')
    t.same(problems, [])
  })

  t.test('the longest names widen no email', async (t) => {
    const page = await browser.newPage({ viewport })
    t.teardown(() => page.close())
    for (const [client, hostname] of [
      [longWord, longWord],
      [`svc-cli/${longWord}`, 'ا'.repeat(60)],
      ['汉'.repeat(60), `${'a'.repeat(30)}.${'b'.repeat(60)}`],
    ] as const) {
      const reader = { language: null, timeZone: null }
      const email = renderDeviceEmail({ name: 'svc', site: 'https://svc.example' }, { client, hostname, at: 0 }, reader)
      await page.setContent(email.html)
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width)
    }
  })
}
