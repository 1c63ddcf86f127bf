/** The console's turns in a browser: new ones appear as they end, until the operator pauses the list. */
import t from 'tap'
import { hashToken } from '../../../../../src/domain/identity/api-key.ts'
import { consoleCookie, createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../../../support/website/page-checks.ts'

const address = '/operator/turns?ending=completed'

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('new turns appear in the list, which keeps its rows and can be paused', async (t) => {
    const gateway = await startGateway(t)
    const operator = await createOperator(gateway, 'ann@example.com', 'owner')
    const owner = await openConsole(gateway, operator)
    const { id = '' } =
      (await gateway.services.store.operators.findSession(hashToken(owner.cookies.get(consoleCookie) ?? ''), Date.now())) ?? {}
    const cookie = { name: consoleCookie, value: owner.cookies.get(consoleCookie) ?? '', url: gateway.url }
    const { token } = await gateway.createMember()
    const { membership, clock } = gateway.services
    const chat = async (): Promise<void> => {
      await (await gateway.chat(token)).text()
      await gateway.waitUntilSettled()
      await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
    }
    const session = await openBrowserSession(browser, gateway.url, { locale: 'en' })
    await session.context.addCookies([cookie])
    const { page } = session
    const meter = await startLoadMeter(session)
    await meter.open(address)
    t.ok(meter.bytes <= 60_000, `${meter.bytes} bytes`)
    t.match(await page.locator('main').innerText(), /No turn fits these filters/)

    const rows = page.locator('tbody tr')
    await chat()
    await rows.first().waitFor()
    const first = await rows.first().locator('a').first().getAttribute('href')
    await rows.first().locator('a').first().focus()
    await chat()
    await rows.nth(1).waitFor()
    t.equal(await rows.nth(1).locator('a').first().getAttribute('href'), first, 'the newest is at the top')
    t.equal(await page.evaluate('document.activeElement.getAttribute("href")'), first, 'the focus stays')
    t.same(await findAccessibilityViolations(page), [])
    t.same(await findFaultsAtWidths(meter.session), [])

    await page.getByRole('button', { name: 'Pause' }).click()
    const other = await session.context.newPage()
    await other.goto(address)
    await chat()
    await other.locator('tbody tr').nth(2).waitFor()
    t.equal(await rows.count(), 2, 'a paused list stays')
    await page.getByRole('button', { name: 'Show new turns' }).click()
    await rows.nth(2).waitFor()
    t.same(session.problems, [])
    await gateway.services.store.operators.endSession(id)
    await page.getByRole('button', { name: 'Show new turns' }).waitFor()
    t.equal(await rows.count(), 3, 'a list that is not live any more stays, and shows that')
    await session.context.close()

    const again = await openConsole(gateway, operator)
    const plain = await openBrowserSession(browser, gateway.url, { locale: 'zh-CN', javaScriptEnabled: false })
    await plain.context.addCookies([{ ...cookie, value: again.cookies.get(consoleCookie) ?? '' }])
    await plain.page.goto(address)
    t.equal(await plain.page.locator('tbody tr').count(), 3)
    t.notOk(await plain.page.locator('[data-live-pause]').isVisible(), 'nothing to pause without a script')
    await plain.context.close()
  })
