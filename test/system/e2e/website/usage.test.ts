import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../support/website/page-checks.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { openSignedIn } from '../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  t.test('a new account makes a key, and sees its first request arrive', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    await page.getByRole('heading', { name: 'Start here' }).waitFor()
    await page.getByRole('button', { name: 'Make a key' }).click()
    const token = (await page.getByRole('region', { name: 'Key', exact: true }).textContent()) ?? ''
    await page.goto('/account')
    await page.getByText('You have the key “First key”.').waitFor()
    await page.getByText('Waiting for it.').waitFor()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200)
    await page.getByText('Your first request has arrived and was answered.').waitFor()
    await page.locator('.rows li').waitFor()
    await page.getByText(/credits in 1 turn\./).waitFor()
    t.same(problems, [])
  })

  t.test('shows usage by key, filters the turns, turns pages and exports them', async (t) => {
    const gateway = await startGateway(t)
    const client = new WebsiteClient(gateway)
    await client.signIn('mei@example.com')
    const id = (await gateway.services.store.accounts.find('mei@example.com'))?.id ?? ''
    await gateway.services.store.accounts.setPlan(id, 'pro')
    const laptop = (await client.post('auth/api-keys', { name: '=laptop' })).body
    const server = (await client.post('auth/api-keys', { name: 'server' })).body
    for (let index = 0; index < 11; index += 1) await (await gateway.chat(laptop.token, { model: 'auto' })).text()
    await (await gateway.chat(server.token, { model: 'svc-2.1' })).text()
    await gateway.waitUntilSettled()
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, {
      viewport: { width: 360, height: 740 },
      hasTouch: true,
    })
    t.teardown(() => context.close())
    await context.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
    await page.goto('/account')
    await page.getByText(/credits in 12 turns\./).waitFor()
    t.equal(await page.locator('.rows > li').count(), 10)
    const tall = Number(await page.evaluate('document.documentElement.scrollHeight'))
    t.ok(tall <= 3000, `${tall} px high on a phone`)

    const slider = page.getByRole('slider', { name: 'Day' })
    t.match(await slider.getAttribute('aria-valuetext'), /credits · /)
    await slider.focus()
    await page.keyboard.press('ArrowLeft')
    t.match(await slider.getAttribute('aria-valuetext'), /: 0 credits$/, 'the day before, by keyboard')
    await page.getByLabel('Group by').selectOption('key')
    await page.locator('.chart-legend').getByText('=laptop').waitFor()
    t.equal(await page.locator('.chart-legend > li').count(), 2)

    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('Page 2').waitFor()
    t.equal(await page.locator('.rows > li').count(), 2)
    await page.locator('summary', { hasText: 'Filter' }).click()
    await page.locator('#filter-credential').selectOption('server')
    await page.locator('.rows > li').nth(1).waitFor({ state: 'detached' })
    t.match(page.url(), `credential=${server.id}`)
    await page.reload()
    await page.locator('.rows > li').waitFor()
    t.match(await page.locator('.rows > li').allTextContents(), [/svc-2\.1/], 'the filter is in the address')
    await page.locator('.rows summary').click()
    await page.locator('.rows').getByText('Chat Completions').waitFor()
    t.same(await findFaultsAtWidths(await context.newCDPSession(page)), [])
    t.same(await findAccessibilityViolations(page), [])

    await page.locator('#filter-credential').selectOption('')
    await page.getByText('Page 1').waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export CSV' }).click()])
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    t.equal(lines.length, 13)
    t.match(lines[0], /^\uFEFFstarted_at,ended_at,request_id,model/)
    t.match(lines[0], /,input_tokens,cached_input_tokens,output_tokens,credits$/)
    t.match(lines[1], /,settled,,\d+,\d+,\d+,\d+$/)
    t.match(lines[2], ",'=laptop,", 'a name is no formula')
    t.same(problems, [])
  })

  t.test('warns from 80 % and shows a used-up pool in red, with what still works', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    const answer = { used: 0, remaining: 0 }
    const { ledger } = gateway.services
    const readBalance = ledger.balance.bind(ledger)
    ledger.balance = async (query) => {
      const balance = await readBalance(query)
      const pools = balance.pools.map((pool) =>
        pool.pool === 'premium' && pool.window === 'day' ? { ...pool, limit: 100, ...answer } : pool,
      )
      return { ...balance, pools }
    }
    Object.assign(answer, { used: 79, remaining: 21 })
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    await page.locator('.gauge.premium.normal').waitFor()
    Object.assign(answer, { used: 80, remaining: 20 })
    await page.reload()
    await page.locator('.gauge.premium.warn').waitFor()
    await page.getByText('Premium models: 80% of what your plan includes for today is used.').waitFor()
    Object.assign(answer, { used: 104, remaining: 0 })
    await page.reload()
    await page.locator('.gauge.premium.full').waitFor()
    await page.getByText(/everything for today is used\. It resets .+ Fast models still have room\./).waitFor()
    await page.getByText('100 of 100 credits used · 4 more than the plan includes').first().waitFor()
    t.equal(await page.evaluate("getComputedStyle(document.querySelector('.gauge.full .used')).fill"), 'rgb(179, 38, 30)')
    t.same(await findFaultsAtWidths(await context.newCDPSession(page)), [])
    t.same(await findAccessibilityViolations(page), [])
    t.same(problems, [])
  })

  t.test('ends all other sessions, and the log names the key and the device', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { viewport: { width: 360, height: 740 } })
    t.teardown(() => context.close())
    const other = new WebsiteClient(gateway)
    await other.signIn('mei@example.com')
    await other.post('auth/api-keys', { name: 'laptop' })
    await context.addCookies([...other.cookies].map(([name, value]) => ({ name, value, url: gateway.url })))
    const id = (await gateway.services.store.accounts.find('mei@example.com'))?.id ?? ''
    const at = gateway.services.clock.now()
    const session = { id: 'ses_other', account: id, kind: 'cli', method: 'device', client: 'svc-cli (build-box)' } as const
    const times = { createdAt: at, lastUsedAt: at, expiresAt: at + 86_400_000 }
    await gateway.services.store.sessions.create({
      ...session,
      ...times,
      address: null,
      hash: new Uint8Array(32).fill(7),
    })
    await page.goto('/sessions')
    await page
      .locator('.log-row', { hasText: 'API key created' })
      .getByText(/laptop \(svc_live_/)
      .waitFor()
    await page.getByText('svc-cli (build-box)').waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    const lastSeen = await page.getByText('this minute').first().boundingBox()
    t.ok(lastSeen !== null && lastSeen.height < 30, 'the time is on one line')
    await page.getByRole('button', { name: 'End all others' }).click()
    await page.getByText('All other sessions have ended.').waitFor()
    await page.locator('.log-row', { hasText: 'Session ended' }).getByText('1 session ended').waitFor()
    t.equal(await page.getByText('svc-cli (build-box)').count(), 0)
    t.equal(await page.getByRole('button', { name: 'End all others' }).count(), 0)
    t.same(problems, [])
  })
}
