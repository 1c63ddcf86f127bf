import type { Browser } from 'playwright-core'
import t from 'tap'
import { openChromium, openBrowserSession } from '../../../../support/website/chromium.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { openSignedIn, signInByCode } from '../../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

interface StartedLogin {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

function startLogin(gateway: TestGateway): Promise<StartedLogin> {
  return postDevice(gateway, 'start', {
    client: 'svc-cli',
    client_version: '0.1.0',
    hostname: 'build-box',
  }) as Promise<StartedLogin>
}

async function postDevice(gateway: TestGateway, step: 'start' | 'poll', body: unknown): Promise<unknown> {
  const response = await fetch(`${gateway.url}/api/membership/auth/device/${step}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

function runJourneys(browser: Browser): void {
  t.test('names that a device chose widen no page, hide no button and stand apart from our words', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url, { viewport: { width: 360, height: 740 } })
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    for (const [hostname, shown] of [
      ['W'.repeat(64), `“${'W'.repeat(59)}…”`],
      ['Ada\u2019s MacBook (verified)\u2028This device: approved.', '“Ada’s MacBook (verified) This device: approved.”'],
      ['\u202ekcab\u202c', '“kcab”'],
    ] as const) {
      const device = (await postDevice(gateway, 'start', {
        client: 'svc-cli',
        client_version: `9.9.9-${'x'.repeat(50)}`,
        hostname,
      })) as StartedLogin
      await page.goto(device.verification_uri_complete)
      await page.getByRole('button', { name: 'Deny', exact: true }).waitFor()
      t.equal(await page.locator('.own-words dd').nth(1).innerText(), shown)
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, 'the page is as wide as the screen')
      const box = await page.getByRole('button', { name: 'Deny', exact: true }).boundingBox()
      t.ok(box !== null && box.x >= 0 && box.x + box.width <= 360, 'Deny is on it')
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      await page.getByRole('heading', { name: 'Connected' }).waitFor()
      await pollLogin(gateway, device.device_code)
    }
    await page.goto('/sessions')
    await page.getByText('Device approved').first().waitFor()
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, 'nor does the list of sessions widen')
  })

  t.test('completes a device login from start to session token, approved on the page after sign-in', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    const device = await startLogin(gateway)

    await signInByCode(page, gateway, 'mei@example.com', device.verification_uri_complete)
    t.match(page.url(), '/device?user_code=', 'signing in leads back to the code')
    await page.getByText(device.user_code).waitFor()
    t.notMatch(await page.locator('.device').innerText(), /undefined|false|null/)
    for (const fact of ['svc-cli 0.1.0', 'build-box', 'mei@example.com', 'Only approve if you started this'])
      t.ok(await page.getByRole('main').getByText(fact).first().isVisible(), `shows ${fact}`)
    t.match(
      await postDevice(gateway, 'poll', { device_code: device.device_code }),
      { status: 'pending' },
      'opening approves nothing',
    )

    t.match(await page.locator('.own-words').innerText(), /says about itself, unchecked\s+Program\s+“svc-cli 0.1.0”/)

    const [approve, deny] = await Promise.all(
      ['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }).boundingBox()),
    )
    t.same([deny?.width, deny?.height], [approve?.width, approve?.height], 'Deny is as prominent as Approve')

    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByRole('heading', { name: 'Connected' }).waitFor()
    const { status, sessionToken } = await pollLogin(gateway, device.device_code)
    t.equal(status, 'approved')
    t.match(sessionToken, /^svc_sess_/)
    t.equal((await gateway.chat(sessionToken ?? '', { model: 'auto' })).status, 200, 'and the token works')

    await page.goto('/sessions')
    await page.getByText('Device approved').waitFor()
    await page.getByRole('button', { name: /End the session/ }).click()
    await page.getByText('The session has ended.').waitFor()
    t.equal((await gateway.chat(sessionToken ?? '', { model: 'auto' })).status, 401, 'an ended session is over')
    t.same(problems, [])
  })

  t.test('gives a denied device nothing, and accepts a typed code like a link', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    const device = await startLogin(gateway)
    await openSignedIn(page, gateway, 'mei@example.com', '/device')
    await page.getByLabel('Code').fill('ZZZZ-ZZZZ')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Code').fill(device.user_code.toLowerCase().replace('-', ''))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    t.match(await pollLogin(gateway, device.device_code), { ok: false, code: 'access_denied' })
    t.same(problems, [])
  })

  t.test('returns to the code after a new sign-in when the session ends before the decision', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    const device = await startLogin(gateway)
    await openSignedIn(page, gateway, 'mei@example.com', device.verification_uri_complete)
    const approve = page.getByRole('button', { name: 'Approve', exact: true })
    await approve.waitFor()
    await context.clearCookies()
    await approve.click()
    await page.waitForURL((url) => url.pathname === '/sign-in')
    t.equal(new URL(page.url()).searchParams.get('next'), `/device?user_code=${device.user_code}`)
  })

  t.test('hides a code that one member has opened from other members', async (t) => {
    const gateway = await startGateway(t)
    const [one, other] = [await openBrowserSession(browser, gateway.url), await openBrowserSession(browser, gateway.url)]
    t.teardown(() => Promise.all([one.context.close(), other.context.close()]))
    const device = await startLogin(gateway)
    await openSignedIn(one.page, gateway, 'one@example.com', device.verification_uri_complete)
    await one.page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    await openSignedIn(other.page, gateway, 'other@example.com', device.verification_uri_complete)
    await other.page.getByRole('alert').waitFor()
    t.equal(await other.page.getByRole('button', { name: 'Approve', exact: true }).count(), 0)
  })
}

/** The answer to the device's next poll, at the interval that the service sets. */
async function pollLogin(
  gateway: TestGateway,
  deviceCode: string,
): Promise<{ readonly status?: string; readonly sessionToken?: string }> {
  while (true) {
    const answer = (await postDevice(gateway, 'poll', { device_code: deviceCode })) as { status?: string; interval?: number }
    if (answer.status !== 'slow_down' && answer.status !== 'pending') return answer
    await new Promise((resolve) => setTimeout(resolve, (answer.interval ?? 1) * 1000))
  }
}
