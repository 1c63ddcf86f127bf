/**
 * Every page of the operator's console, in English and light at 1280 pixels with scripts, and in Chinese and dark at 360 without, then resized
 * from 320 to 1920: axe, the content policy, weight, lines and tables.
 */
import t from 'tap'
import type { Test } from 'tap'
import { pages } from '../../../src/pages/pages.ts'
import { createOperator, openConsole } from '../../support/gateway/operators.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../support/website/chromium.ts'
import type { BrowserSession } from '../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../support/website/page-checks.ts'
import type { LoadMeter } from '../../support/website/page-checks.ts'
import { fillConsole } from '../../support/website/console-data.ts'

const maxBytes = 60_000
const maxShift = 0.05

interface Reader extends BrowserSession {
  readonly meter: LoadMeter
  readonly language: string
}

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('no page of the console keeps an operator out', async (t) => {
    const gateway = await startGateway(t, { payments: { demo: true } })
    const owner = await createOperator(gateway, 'ann-who-has-quite-a-long-address@operators.example.com', 'owner')
    const names = await fillConsole(gateway, owner)
    const client = await openConsole(gateway, owner)
    const cookies = [...client.cookies].map(([name, value]) => ({ name, value, url: gateway.url }))
    const open = async (language: string, options: Parameters<typeof openBrowserSession>[2]): Promise<Reader> => {
      const session = await openBrowserSession(browser, gateway.url, { locale: language, ...options })
      await session.context.addCookies(cookies)
      return { ...session, language, meter: await startLoadMeter(session) }
    }
    const atDesk = await open('en', { colorScheme: 'light' })
    const onPhone = await open('zh-CN', {
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
      hasTouch: true,
    })
    // As without scripts, but with one for axe.
    await onPhone.page.route('**/*.js', (route) => route.abort())
    const paths = ['/operator', ...pages.filter(({ audience }) => audience === 'operators').map(({ path }) => path)]
    for (const path of paths.map((each) => each.replaceAll(/:\w+/g, (name) => names[each] ?? name))) {
      for (const reader of [atDesk, onPhone]) await checkPage(t, path, reader)
      // Every question below its button.
      await onPhone.page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
      t.same(await findAccessibilityViolations(onPhone.page), [], `${path} has no barrier with its questions open`)
      t.same(await findFaultsAtWidths(onPhone.meter.session), [], `${path} keeps its lines with its questions open`)
    }
    for (const { context, problems } of [atDesk, onPhone]) {
      t.same(problems, [], 'no script failed, nothing was refused, nothing was loaded from elsewhere')
      await context.close()
    }
  })

async function checkPage(t: Test, path: string, { page, meter, language }: Reader): Promise<void> {
  const place = `${path} (${language})`
  await meter.open(path)
  t.equal(await page.locator('.console .rail a[aria-current]').count(), 1, place)
  t.ok(meter.bytes > 5_000 && meter.bytes <= maxBytes, `${place} weighs ${meter.bytes} bytes`)
  const shift = await meter.readShift()
  t.ok(shift <= maxShift, `${place} moves by ${shift}`)
  t.equal(await page.evaluate('document.documentElement.lang'), language, `${path} is in the reader’s language`)
  const shown = String(await page.evaluate('document.body.innerText'))
  t.notMatch(shown, /\b(undefined|NaN|null|false)\b|\[object|\{\w+\}|Invalid Date/, `${path} shows no value that is none`)
  t.same(await findAccessibilityViolations(page), [], `${place} has no barrier`)
  t.same(await findFaultsAtWidths(meter.session), [], `${place} keeps its lines and tables at every width`)
}
