/** The documentation in a browser: the reader's own key in the snippets, and the search without a script. */
import t from 'tap'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { openSignedIn } from '../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) {
  t.test('a pasted key is in the snippets of each page, in this tab alone, and goes nowhere', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    const requests: string[] = []
    context.on('request', (request) => requests.push(`${request.url()} ${request.postData() ?? ''}`))
    const readCode = () => page.locator('.docs-body').innerText()
    await page.goto('/docs/tools/claude')
    t.match(await readCode(), '"ANTHROPIC_AUTH_TOKEN": "svc_live_…"')
    await page.getByLabel('Your key').fill(' svc_live_mine ')
    t.match(await readCode(), '"ANTHROPIC_AUTH_TOKEN": "svc_live_mine"')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Quick start' }).click()
    await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
    t.match(await readCode(), 'export SVC_API_KEY="svc_live_mine"')
    await page.getByLabel('Your key').fill('')
    t.match(await readCode(), 'export SVC_API_KEY="svc_live_…"')
    t.same(
      requests.filter((request) => request.includes('svc_live_mine')),
      [],
    )
    t.same(problems, [])
    await context.close()
  })

  t.test('without scripts the documentation can be searched, and each page with a form reports that it needs them', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url, { javaScriptEnabled: false })
    await page.goto('/docs')
    await page.getByRole('searchbox').fill('quota_exceeded')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Errors: All codes' }).click()
    await page.getByRole('link', { name: 'quota_exceeded', exact: true }).click()
    t.match(page.url(), /\/docs\/errors#quota_exceeded$/)
    const notice = page.locator('.unsent', { hasText: 'This page needs JavaScript.' })
    t.equal(await notice.count(), 0, 'the documentation needs none')
    await page.goto('/plans')
    await page.getByRole('heading', { name: 'Plans', level: 1 }).waitFor()
    t.equal(await notice.count(), 0, 'plans need none')
    await page.goto('/sign-in')
    t.equal(await notice.count(), 0, 'signing in needs none')
    const forms = page.locator('main form:visible')
    await openSignedIn(page, gateway, 'mei@example.com', '/chat')
    await notice.waitFor()
    t.equal(await forms.count(), 0, 'the chat shows no form that sends nothing')
    for (const path of ['/keys', '/device', '/account/profile']) {
      await page.goto(path)
      t.equal(await notice.count(), 0, `${path} needs none`)
    }
    await context.close()
  })
}
