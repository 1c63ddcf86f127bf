/** An operator in a browser: the second factor at 360 px in Chinese and dark, without a script, and a shell link in English and wide. */
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { createOperator } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import type { BrowserSession } from '../../../../support/website/chromium.ts'
import { startLoadMeter, findFaultsAtWidths } from '../../../../support/website/page-checks.ts'

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('an operator sets up the second factor on a phone without a script, and opens a shell link', async (t) => {
    const time = { now: Math.ceil(Date.now() / 30_000) * 30_000 }
    const gateway = await startGateway(t, {}, { clock: createClock({ now: () => time.now }) })
    const operator = await createOperator(gateway, 'ann@example.com', 'owner')
    const look = async ({ page }: { page: Page }, place: string) => {
      t.same(await findAccessibilityViolations(page), [], place)
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${place} fits`)
    }

    const phone = await openBrowserSession(browser, gateway.url, {
      locale: 'zh-CN',
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
      javaScriptEnabled: false,
    })
    const cookies = [...operator.browser.cookies].map(([name, value]) => ({ name, value, url: gateway.url }))
    await phone.context.addCookies(cookies)
    await phone.page.goto('/operator')
    await phone.page.getByRole('button', { name: '设置两步验证' }).click()
    t.equal(await phone.page.getByRole('img', { name: '包含密钥的二维码' }).count(), 1)
    const key = (await phone.page.locator('.facts code').innerText()).replaceAll(' ', '')
    const totp = new TOTP({ secret: Secret.fromBase32(key) })
    const enter = async (code: string): Promise<void> => {
      await phone.page.getByLabel('验证码').fill(code)
      await phone.page.getByRole('button', { name: '继续' }).click()
    }
    await enter('000000')
    t.match(await phone.page.locator('.field-error').innerText(), /验证码错误/)
    await enter(totp.generate({ timestamp: time.now }))
    t.equal((await phone.page.locator('pre code').innerText()).split('\n').length, 10)
    await phone.page.getByRole('link', { name: '我已保存' }).click()
    t.match(await phone.page.locator('main').innerText(), /一切正常/)
    await phone.page.getByRole('link', { name: '本次登录' }).click()
    t.match(await phone.page.locator('main').innerText(), /你已以管理员身份登录[^]*ann@example\.com[^]*所有者/)
    time.now += 10 * 60_000
    await phone.page.reload()
    await enter(totp.generate({ timestamp: time.now }))
    t.match(await phone.page.locator('.notice').innerText(), /两步验证已通过/)
    await phone.page.locator('main').getByRole('button', { name: '退出控制台' }).click()
    await phone.context.close()

    const wide = await openBrowserSession(browser, gateway.url, { locale: 'en' })
    const meter = await startLoadMeter(wide)
    const token = await gateway.services.membership.consoleSessions.createShellLink('root')
    await meter.open(`/operator/link?token=${token}`)
    t.ok(meter.bytes <= 60_000, `${meter.bytes} bytes`)
    t.same(await findFaultsAtWidths(meter.session), [])
    await look(wide, 'the page of a link')
    await wide.page.getByRole('button', { name: 'Open the console' }).click()
    await wide.page.waitForURL('**/operator')
    t.match(await wide.page.locator('header.top').innerText(), /Shell of the system user root/)
    t.same(await findFaultsAtWidths(meter.session), [])
    await look(wide, 'the console of a shell')
    const member = await gateway.createMember()
    await gateway.chat(member.token)
    // An event has other rows than the page, so the page is loaded again.
    await wide.page.locator('[data-live="day-completed"]').waitFor()
    await gateway.chat(member.token)
    await wide.page.locator('[data-live="day-completed"]', { hasText: '100% (2)' }).waitFor()
    t.equal(new URL(wide.page.url()).pathname, '/operator')
    await wide.page.locator('.console-top summary').click()
    await wide.page.locator('.console-top').getByRole('button', { name: 'Leave the console' }).click()
    await wide.page.waitForURL(`${gateway.url}/`)

    await wide.context.clearCookies()
    await wide.context.addCookies(cookies)
    await operatorPages(wide, async (place) => {
      t.same(await findFaultsAtWidths(meter.session), [], place)
      await look(wide, place)
    })
    t.same(wide.problems, [])
    await wide.context.close()
  })

/** The field for a code, and in Chinese. */
async function operatorPages({ page }: BrowserSession, look: (place: string) => Promise<void>): Promise<void> {
  for (const address of ['/operator', '/operator?lang=zh']) {
    await page.goto(address)
    await page.locator('input[name=code]').waitFor()
    await look(address)
  }
}
