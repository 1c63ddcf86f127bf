/** An operator of money on a phone without scripts, in Chinese and dark, and on a wide screen in English: a refund, and codes made and revoked. */
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { createPaidOrder } from '../../../../support/website/console-data.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../../../support/website/page-checks.ts'

interface Words {
  readonly refund: string
  readonly amount: string
  readonly reason: string
  readonly refunded: RegExp
  readonly makeCodes: string
  readonly credits: string
  readonly madeTitle: RegExp
  readonly saved: string
  readonly revoke: string
  readonly revoked: RegExp
}

const english: Words = {
  refund: 'Refund',
  amount: 'Amount in USD',
  reason: 'Reason',
  refunded: /The refund was made/,
  makeCodes: 'Make codes for credits',
  credits: 'Credits',
  madeTitle: /The new codes/,
  saved: 'I have copied them',
  revoke: 'Revoke',
  revoked: /The code is revoked/,
}
const chinese: Words = {
  refund: '退款',
  amount: '金额（USD）',
  reason: '原因',
  refunded: /已退款/,
  makeCodes: '生成点数兑换码',
  credits: '点数',
  madeTitle: /新的兑换码/,
  saved: '我已复制',
  revoke: '作废',
  revoked: /兑换码已作废/,
}
const packs = [{ id: 'small', credits: 1_000_000, pool: 'premium' as const, prices: [{ amount: 4, currency: 'USD' }] }]

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('an operator refunds an order, and makes and revokes a code', async (t) => {
    const gateway = await startGateway(t, { payments: { demo: true }, packs })
    const client = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
    const cookies = [...client.cookies].map(([name, value]) => ({ name, value, url: gateway.url }))
    const readers = [
      {
        words: chinese,
        amount: '1.00',
        options: { locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 360, height: 740 } },
      },
      { words: english, amount: '4.00', options: { locale: 'en' } },
    ] as const
    for (const { words, amount, options } of readers) {
      const { id: account } = await gateway.createAccount('free')
      const { order } = await createPaidOrder(gateway, account, { kind: 'pack', pack: 'small' })
      const session = await openBrowserSession(browser, gateway.url, options)
      await session.context.addCookies(cookies)
      const { page } = session
      // As without scripts, but with one for axe.
      if (words === chinese) await page.route('**/*.js', (route) => route.abort())
      await refund(t, page, words, order.id, amount)
      t.match(await gateway.services.store.orders.find(order.id), {
        state: 'refunded',
        refunded: Math.round(Number(amount) * 100),
      })
      await makeAndRevoke(t, page, words)
      if (words === english) {
        const meter = await startLoadMeter(session)
        t.same(await findFaultsAtWidths(meter.session), [])
      }
      t.same(session.problems, [])
      await session.context.close()
    }
    t.same(
      (await gateway.services.store.saleLists.listCodes({ now: gateway.services.clock.now(), limit: 9 })).map(
        ({ revokedAt }) => revokedAt === null,
      ),
      [false, false],
    )
  })

async function look(t: Test, page: Page, place: string): Promise<void> {
  t.same(await findAccessibilityViolations(page), [], place)
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${place} fits`)
}

/** Opens the question behind a button: a dialog with scripts, and below the button without. */
async function openQuestion(page: Page, name: string): Promise<void> {
  await page.locator('main summary', { hasText: name }).first().click()
}

async function refund(t: Test, page: Page, words: Words, order: string, amount: string): Promise<void> {
  await page.goto(`/operator/orders/${order}`)
  await openQuestion(page, words.refund)
  await look(t, page, 'the question of a refund')
  const form = page.locator('form', { has: page.locator('input[name=action][value=refund]') })
  t.equal(await form.getByLabel(words.amount).inputValue(), '4.00', 'the most that can be refunded')
  await form.getByLabel(words.amount).fill(amount)
  await form.getByLabel(words.reason).fill('asked by email')
  await form.getByRole('button', { name: words.refund }).click()
  await page.waitForURL('**done=refunded**')
  t.match(await page.locator('.notice').first().innerText(), words.refunded)
  await page.reload()
  await look(t, page, 'a refunded order')
}

async function makeAndRevoke(t: Test, page: Page, words: Words): Promise<void> {
  await page.goto('/operator/money/codes')
  await openQuestion(page, words.makeCodes)
  await look(t, page, 'the question of codes')
  const form = page.locator('form', { has: page.locator('input[name=action][value=make_credit_codes]') })
  await form.getByLabel(words.credits, { exact: true }).fill('5000')
  await form.getByLabel(words.reason).fill('a fair')
  await form.getByRole('button', { name: words.makeCodes }).click()
  await page.getByRole('heading', { name: words.madeTitle }).waitFor()
  t.match(await page.locator('pre code').innerText(), /^(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}$/)
  await look(t, page, 'the new code')
  await page.getByRole('link', { name: words.saved }).click()
  await page.goto('/operator/money/codes?state=open')
  t.equal(await page.locator('main tbody tr').count(), 1)
  await page.locator('main tbody a').first().click()
  await openQuestion(page, words.revoke)
  const ask = page.locator('form', { has: page.locator('input[name=action][value=revoke]') })
  await ask.getByLabel(words.reason).fill('the fair is over')
  await ask.getByRole('button', { name: words.revoke }).click()
  await page.waitForURL('**done=revoked**')
  t.match(await page.locator('.notice').first().innerText(), words.revoked)
  await look(t, page, 'a revoked code')
}
