/** What every page has: the account menu, the reader's colours, and a language switch that keeps the place. */
import t from 'tap'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { openSignedIn, pressSignOut } from '../../../support/website/sign-in.ts'

const readBackground = 'getComputedStyle(document.body).backgroundColor'

/** The state of the font's file, the width of a sentence, and how much of the page has moved since it was painted. */
const describeFont = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) sum += value
  }).observe({ type: 'layout-shift', buffered: true })
  const sentence = document.createRange()
  sentence.selectNodeContents(document.querySelector('footer p:nth-of-type(2)'))
  const { status } = [...document.fonts].find(({ family }) => family === 'Inter')
  requestAnimationFrame(() =>
    requestAnimationFrame(() => setTimeout(() => resolve([status, sentence.getBoundingClientRect().width, sum]), 0)),
  )
})`

const browser = await openChromium(t)
if (browser !== undefined) {
  t.test('a reader chooses colours, which stay until they follow the system again', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { colorScheme: 'light' })
    const choose = (name: string) => page.locator('footer').getByRole('link', { name, exact: true }).click()
    await page.goto('/docs/limits?from=mail#tracing')
    const light = await page.evaluate(readBackground)
    await choose('Dark')
    t.match(page.url(), /\/docs\/limits\?from=mail#tracing$/, 'the address is as it was')
    const dark = await page.evaluate(readBackground)
    t.not(dark, light)
    await page.goto('/plans')
    t.equal(await page.evaluate(readBackground), dark, 'on every page')
    await page.emulateMedia({ colorScheme: 'dark' })
    await choose('Light')
    t.equal(await page.evaluate(readBackground), light, 'against the system')
    await choose('Auto')
    t.equal(await page.evaluate(readBackground), dark, 'with the system')
    t.same(problems, [])
    await context.close()
  })

  t.test('a font that arrives late moves nothing', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    const painted = Promise.withResolvers<undefined>()
    await page.route('**/inter.woff2', async (route) => {
      await painted.promise
      await route.continue()
    })
    await page.goto('/docs', { waitUntil: 'commit' })
    await page.locator('footer').waitFor()
    const [before, width] = await page.evaluate<[string, number]>(describeFont)
    t.match(before, /loading/)
    painted.resolve(undefined)
    await page.evaluate('document.fonts.ready.then(() => undefined)')
    const [after, widthAfter, shift] = await page.evaluate<[string, number, number]>(describeFont)
    t.match(after, /loaded/)
    t.ok(shift <= 0.05, `${shift}`)
    t.ok(Math.abs(widthAfter - width) < width / 30, `a sentence of ${width} pixels is then ${widthAfter} wide`)
    t.same(problems, [])
    await context.close()
  })

  t.test('the language switch keeps the place in the page', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url)
    await page.goto('/docs/errors#conflict')
    await page.locator('.top').getByRole('link', { name: '中文' }).click()
    await page.getByRole('heading', { name: '错误', level: 1 }).waitFor()
    t.match(page.url(), /\/docs\/errors#conflict$/)
    // The page scrolls smoothly.
    await waitUntil(async () => Number(await page.evaluate('scrollY')) > 500, 'the page to be at the anchor')
    await page.goto('/')
    await page.evaluate("scrollTo({ top: document.documentElement.scrollHeight / 2, behavior: 'instant' })")
    await page.locator('.top').getByRole('link', { name: 'English' }).click()
    await page.getByRole('heading', { name: 'One key for every model you use.' }).waitFor()
    const readShare = async () => Number(await page.evaluate('scrollY / document.documentElement.scrollHeight'))
    await waitUntil(async () => (await readShare()) > 0.3, 'the page to be about as far down as before')
    await context.close()
  })

  t.test('the account menu names the account, opens by keyboard and signs out', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    await openSignedIn(page, gateway, 'mei@example.com', '/docs')
    const menu = page.locator('.account-menu')
    await menu.locator('summary').focus()
    await page.keyboard.press('Enter')
    t.match(await menu.innerText(), 'mei@example.com')
    await menu.getByRole('link', { name: 'Sessions' }).waitFor()
    await page.keyboard.press('Escape')
    await menu.getByRole('link', { name: 'Sessions' }).waitFor({ state: 'hidden' })
    await pressSignOut(page)
    await page.locator('.top').getByRole('link', { name: 'Sign in' }).waitFor()
    t.same(problems, [])
    await context.close()
  })
}
