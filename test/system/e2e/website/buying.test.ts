/**
 * A member buys with the provider for demonstrations, by links and forms alone on a phone, and with scripts on a phone and on a wide screen.
 * What finds barriers is a script, so it looks where scripts run: in light colours at the journey's width, and in dark ones at the other.
 */
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { createRenewalToken } from '../../../../src/domain/billing/email-link-token.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { readEmailsTo } from '../../../support/gateway/website-client.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../support/website/page-checks.ts'
import { openSignedIn } from '../../../support/website/sign-in.ts'

const words = {
  en: {
    buy: 'Buy Pro',
    pay: /^Pay \$9\.00$/,
    demoPay: 'Pay',
    demoLose: 'Pay, notification lost',
    delivered: 'Paid and delivered',
    waiting: 'Waiting for your payment',
    receipt: 'Receipt',
    check: 'Check now',
    cancel: 'Cancel the order',
    cancelled: 'The order is cancelled',
  },
  zh: {
    buy: '购买 Pro',
    pay: /^支付 \$9\.00$/,
    demoPay: '付款',
    demoLose: '付款，但通知丢失',
    delivered: '已付款并到账',
    waiting: '等待你支付',
    receipt: '收据',
    check: '立即查询',
    cancel: '取消订单',
    cancelled: '订单已取消',
  },
} as const

const browser = await openChromium(t)
if (browser !== undefined) {
  runJourney(browser, { language: 'en', width: 360, hasScripts: false })
  runJourney(browser, { language: 'en', width: 360, hasScripts: true })
  runJourney(browser, { language: 'zh', width: 1280, hasScripts: true })
}

const height = 740

interface Reader {
  readonly language: 'en' | 'zh'
  readonly width: number
  readonly hasScripts: boolean
}

function runJourney(browser: Browser, { language, width, hasScripts }: Reader): void {
  t.test(`buys a plan and a pack, in ${language} at ${width} pixels, ${hasScripts ? 'with' : 'without'} scripts`, async (t) => {
    const gateway = await startGateway(t, {
      packs: [{ id: 'small', credits: 500_000, pool: 'premium', prices: [{ amount: 5, currency: 'USD' }], days: 365 }],
      payments: { demo: true, legalLines: ['Example GmbH'], taxText: { en: 'Includes 19 % VAT.', zh: '含 19% 增值税。' } },
    })
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, {
      javaScriptEnabled: hasScripts,
      viewport: { width, height },
      locale: language === 'zh' ? 'zh-CN' : 'en',
    })
    t.teardown(() => context.close())
    const session = await context.newCDPSession(page)
    const { [language]: say } = words
    const main = page.locator('main')
    const check = async (what: string): Promise<void> => {
      t.same(await findFaultsAtWidths(session, [320, 360, 768, 1280]), [], `${what} keeps its lines`)
      if (hasScripts) await checkBarriers(what)
    }
    const checkBarriers = async (what: string): Promise<void> => {
      for (const [looked, colorScheme] of [
        [width === 360 ? 1280 : 360, 'dark'],
        [width, 'light'],
      ] as const) {
        await page.setViewportSize({ width: looked, height })
        await page.emulateMedia({ colorScheme })
        // Colours that are still changing have the contrast of neither scheme.
        await page.evaluate('for (const each of document.getAnimations()) each.finish()')
        t.same(await findAccessibilityViolations(page), [], `${what} has no barrier at ${looked} pixels, ${colorScheme}`)
      }
    }
    const press = async (name: string | RegExp): Promise<void> => page.getByRole('button', { name, exact: true }).first().click()

    await openSignedIn(page, gateway, 'mei@example.com', '/plans')
    await check('the plans page')
    await page.getByRole('link', { name: say.buy }).click()
    await check('the checkout')
    await press(say.pay)
    await page.waitForURL('**/payments/demo/**')
    await press(say.demoPay)
    await main.getByText(say.delivered).waitFor()
    await check('the order’s page')
    const account = await gateway.services.store.accounts.find('mei@example.com')
    t.equal(account?.plan, 'pro')
    await waitUntil(() => readEmailsTo(gateway, 'mei@example.com').length === 2, 'the code and the receipt are sent')
    t.match(readEmailsTo(gateway, 'mei@example.com').at(-1), /^Subject: .*\d{4}-0000/m)

    await page.getByRole('link', { name: say.receipt }).click()
    await main.getByText('Example GmbH').waitFor()
    await check('the receipt')
    await page.emulateMedia({ media: 'print' })
    t.equal(await page.locator('header.top').isVisible(), false, 'paper has no navigation')
    t.ok(await main.getByText('$9.00').first().isVisible())
    await page.emulateMedia({ media: 'screen' })

    t.comment('a pack whose notification is lost')
    await page.goto('/plans#packs')
    await page.locator('.pack-offer a').click()
    await press(/\$5\.00$/)
    await page.waitForURL('**/payments/demo/**')
    await press(say.demoLose)
    await page.goto('/account/orders')
    await check('the list of orders')
    await page.locator('main table a').first().click()
    await main.getByText(say.delivered).waitFor()
    t.equal((await gateway.services.ledger.balance(await readBalanceOf(gateway, account?.id ?? ''))).packs.length, 1)

    t.comment('an order that is cancelled')
    await page.goto('/checkout?pack=small&currency=USD')
    await press(/\$5\.00$/)
    await page.waitForURL('**/payments/demo/**')
    await page.goto('/account/orders')
    await page.locator('main table a').first().click()
    await main.getByText(say.waiting).waitFor()
    await check('an order that is not paid')
    await cancelOrder(page, say.cancel)
    await main.getByText(say.cancelled).first().waitFor()

    await page.goto(`/cancel-renewal?token=${createRenewalToken(gateway.services.secret, account?.id ?? '')}`)
    await check('the page that cancels a renewal')
    await page.goto('/redeem')
    await check('the page of codes')
    t.same(
      problems.filter((problem) => !problem.startsWith('left the site: ')),
      [],
    )
  })
}

async function cancelOrder(page: Page, name: string): Promise<void> {
  // The opener, and then the button of its question.
  await page.locator('summary', { hasText: name }).click()
  await page.locator('dialog button').click()
}

async function readBalanceOf({ services }: Awaited<ReturnType<typeof startGateway>>, account: string) {
  const at = services.clock.now()
  const pro = services.config.plans['pro']
  if (pro === undefined) throw new Error('there is no plan pro')
  return { account, at, periods: services.calendar.getPeriods(at), limits: pro.pools }
}
