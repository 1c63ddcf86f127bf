/** Values read off the charts of the console in Chromium: by mouse and keyboard on a wide screen, by touch on a phone, and not without a script. */
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../../../support/website/page-checks.ts'

const now = Date.parse('2026-11-29T06:05:00Z')
const pages = ['/operator/routing', '/operator/routing?span=month', '/operator/routing/products/svc-2.1', '/operator/money']

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('the values of a step are those of its row, wherever the pointer or the keyboard is', async (t) => {
    const gateway = await startGateway(t, { timeZone: 'Asia/Shanghai' }, { clock: createClock({ now: () => now }) })
    const { membership, clock } = gateway.services
    const console = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
    const { token } = await gateway.createMember()
    for (const script of [() => ({}), () => ({}), () => ({ status: 500 })] as const) {
      gateway.demo.script(script)
      await (await gateway.chat(token)).text()
    }
    gateway.demo.script()
    await gateway.waitUntilSettled()
    await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
    const open = async (options: Parameters<typeof openBrowserSession>[2]) => {
      const session = await openBrowserSession(browser, gateway.url, options)
      await session.context.addCookies([...console.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
      return { ...session, meter: await startLoadMeter(session), requests: recordScripts(session.page) }
    }

    const wide = await open({ locale: 'en-GB' })
    const { page } = wide
    const picture = page.getByRole('slider')
    const panel = page.locator('.chart-values')
    for (const path of pages) {
      await wide.meter.open(path)
      await picture.waitFor()
      t.ok(wide.meter.bytes <= 60_000, `${path}: ${wide.meter.bytes} bytes`)
      t.ok((await wide.meter.readShift()) <= 0.05, `${path} stays where it is`)
      await page.locator('.chart').scrollIntoViewIfNeeded()
      const { x, y, width, height } = await readBox(page)
      await page.mouse.move(x + width - 1, y + height / 2)
      await sameAsRow(t, page, path)
      t.equal(await page.locator('.chart title').count(), 0, 'the browser shows no tip of its own above the values')
    }

    t.equal(await picture.getAttribute('aria-valuemax'), '29', 'the chart of money has each of the 30 days')
    await picture.press('Home')
    t.match(await panel.innerText(), /^2026-10-31: .*\$0, .*\$0$/, 'also those without a row')

    await wide.meter.open('/operator/routing')
    await picture.waitFor()
    const { x, y, width, height } = await readBox(page)
    await page.mouse.move(x + 1, y + height / 2)
    t.match(await panel.innerText(), /^28 Nov, 15:00: 0 turns$/, 'a step without turns')
    await page.mouse.move(x + width - 1, y + height / 2)
    t.match(await panel.innerText(), /^29 Nov, 14:00\s+completed\s+2\s+failed on our side\s+1\s+others\s+0\s+Turns\s+3$/)
    t.equal(await page.locator('.chart-box [aria-live]').innerText(), '', 'a pointer makes nothing speak')
    await page.mouse.move(x, y - 200)
    t.equal(await panel.isVisible(), false, 'nothing stays behind')

    await page.locator('.routing-chart summary').focus()
    await page.keyboard.press('Shift+Tab')
    t.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'slider', 'the keyboard reaches the chart')
    await sameAsRow(t, page, 'the newest step first')
    t.equal(await picture.getAttribute('aria-valuetext'), '29 Nov, 14:00')
    const spoken = page.locator('.chart-box [aria-live=polite]')
    t.equal(await spoken.innerText(), 'completed 2, failed on our side 1, others 0, Turns 3')
    await page.keyboard.press('ArrowRight')
    t.equal(await picture.getAttribute('aria-valuenow'), '23', 'after the last step is none')
    await page.keyboard.press('ArrowLeft')
    t.match(await panel.innerText(), /^29 Nov, 13:00: 0 turns$/)
    await page.keyboard.press('Home')
    t.equal(await picture.getAttribute('aria-valuenow'), '0')
    t.same(await findAccessibilityViolations(page), [])
    t.same(await findFaultsAtWidths(wide.meter.session), [])
    await page.keyboard.press('Escape')
    t.equal(await panel.isVisible(), false)
    await page.keyboard.press('End')
    t.equal(await panel.isVisible(), true)
    await page.keyboard.press('Tab')
    t.equal(await panel.isVisible(), false, 'it leaves with the focus')

    wide.requests.length = 0
    await wide.meter.open('/operator/members')
    t.ok(wide.requests.length > 0)
    t.notOk(wide.requests.includes('chart-values.js'), 'a page without a chart does not load it')

    const phone = await open({
      locale: 'zh-CN',
      colorScheme: 'dark',
      reducedMotion: 'reduce',
      viewport: { width: 360, height: 740 },
      hasTouch: true,
    })
    for (const path of pages) {
      await phone.page.goto(path)
      await phone.page.getByRole('slider').waitFor()
      await phone.page.locator('.chart').scrollIntoViewIfNeeded()
      const box = await readBox(phone.page)
      await phone.page.touchscreen.tap(box.x + box.width - 1, box.y + box.height / 2)
      await sameAsRow(t, phone.page, `${path} by touch`)
      t.same(await phone.page.evaluate('document.getAnimations().length'), 0)
      t.same(await findAccessibilityViolations(phone.page), [], path)
      t.same(await findFaultsAtWidths(phone.meter.session, [320, 360]), [], path)
      await phone.page.touchscreen.tap(box.x + 10, box.y - 40)
      t.equal(await phone.page.locator('.chart-values').isVisible(), false, 'a tap elsewhere takes it away')
    }

    const plain = await open({ locale: 'en', javaScriptEnabled: false })
    await plain.page.goto('/operator/routing')
    t.equal(await plain.page.getByRole('slider').count(), 0)
    t.equal(await plain.page.locator('.chart').getAttribute('tabindex'), null, 'nothing to press without a script')
    for (const { context, problems } of [wide, phone, plain]) {
      t.same(problems, [])
      await context.close()
    }
  })

function recordScripts(page: Page): string[] {
  const names: string[] = []
  page.on('request', (request) => {
    if (request.resourceType() === 'script') names.push(request.url().split('/').at(-1) ?? '')
  })
  return names
}

async function readBox(page: Page) {
  const box = await page.locator('.chart').boundingBox()
  if (box === null) throw new Error('the page has no chart')
  return box
}

/** The newest step has the first row, and its values are whole within the picture. */
async function sameAsRow(t: Test, page: Page, place: string): Promise<void> {
  const cells = await page.locator('section:has([data-chart]) tbody tr').first().locator('.cell').allTextContents()
  const row = cells.map((text) => text.trim().replaceAll(/\s+/g, ' '))
  const panel = page.locator('.chart-values')
  t.ok(row.length >= 5, place)
  t.same(await panel.locator('strong').allTextContents(), row, place)
  t.equal(await panel.isVisible(), true, place)
  const [inner, outer] = [await panel.boundingBox(), await readBox(page)]
  t.ok(inner !== null && inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width, `${place}: it fits`)
}
