import type { Browser } from 'playwright-core'
import t from 'tap'
import { hashPassword } from '../../../../src/domain/identity/passwords/password.ts'
import { WebsiteClient as Visitor, waitForEmailCode, waitForMagicLink } from '../../../support/gateway/website-client.ts'
import { findAccessibilityViolations, openChromium, openBrowserSession } from '../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../support/website/page-checks.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startHttpsGateway } from '../../../support/website/https-gateway.ts'
import { openSignedIn, signInByCode, pressSignOut } from '../../../support/website/sign-in.ts'
import { createClock } from '../../../../src/system/clock.ts'

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  t.test('behind the shipped Caddy with TLS each cookie is for this host and https alone', async (t) => {
    const secured = await startHttpsGateway(t)
    if (secured === undefined) return
    const { page, context, problems } = await openBrowserSession(browser, secured.site, { ignoreHTTPSErrors: true })
    t.teardown(() => context.close())
    await signInByCode(page, secured.gateway, 'mei@example.com', '/sign-in?next=/account/profile')
    await page.getByRole('main').getByText('mei@example.com').first().waitFor()
    const cookies = await context.cookies()
    const session = cookies.find(({ name }) => name === secured.gateway.services.names.cookie)
    t.match(session, { secure: true, httpOnly: true, sameSite: 'Lax', path: '/' })
    t.same(
      cookies.filter((each) => each !== session && !(each.name.startsWith('__Host-') && each.secure)),
      [],
    )
    await pressSignOut(page)
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    await page.goBack()
    await page.waitForURL((url) => url.pathname === '/sign-in')
    t.same(problems, [])
  })

  t.test('sign up by mail code, make a key, see it once, use it, revoke it', async (t) => {
    const gateway = await startGateway(t)
    const { page, problems, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())

    await page.goto('/')
    await page.getByRole('link', { name: 'Start for free' }).first().click()
    await signInByCode(page, gateway, 'mei@example.com', page.url())
    t.equal(new URL(page.url()).pathname, '/account')
    await page.getByRole('heading', { name: 'Your usage' }).waitFor()
    await page.getByText('Nothing is used yet: all of your plan is left.').waitFor()
    t.equal(await page.getByRole('meter').count(), 2, 'the tightest window of each tier')
    await page.getByText('Day, week and month').click()
    t.equal(await page.getByRole('meter').count(), 8, 'and each pool for day, week and month')

    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'API keys' }).click()
    await page.getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('region', { name: 'Key', exact: true })
    const token = (await shown.textContent()) ?? ''
    t.match(token, /^svc_live_[0-9A-Za-z]{38}$/)
    await page.getByText('Claude Code', { exact: true }).click()
    t.match(
      await page.getByRole('region', { name: '~/.claude/settings.json' }).textContent(),
      token,
      'the settings have the key in them',
    )
    t.same(await findFaultsAtWidths(await context.newCDPSession(page)), [])
    t.same(await findAccessibilityViolations(page), [])

    const reply = await gateway.chat(token, { model: 'auto' })
    t.equal(reply.status, 200)
    t.match(await reply.json(), { object: 'chat.completion' }, 'the key works')

    await page.getByRole('link', { name: 'I have copied it' }).click()
    await page.locator('.key-row', { hasText: 'laptop' }).waitFor()
    t.notMatch(await page.content(), token, 'and is not shown again')

    await page.getByLabel('Revoke the key laptop').first().click()
    await page.getByRole('link', { name: 'Cancel' }).click()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'a question answered with no changes nothing')
    await page.getByLabel('Revoke the key laptop').first().click()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'nor does Enter, pressed without looking')
    for (const width of [768, 900, 1024]) {
      await page.setViewportSize({ width, height: 800 })
      const box = await page.getByLabel('Revoke the key laptop').first().boundingBox()
      t.ok(box !== null && box.x + box.width <= width, `at ${width} px the way to revoke is on the screen`)
    }
    await page.getByLabel('Rename the key laptop').first().click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('old laptop')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The key has its new name.').waitFor()
    await page.getByText(/\d turns and/).waitFor()
    await page.getByLabel('Revoke the key old laptop').first().click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked.').waitFor()
    const ended = page.getByText('Revoked and expired keys (1)')
    await ended.waitFor()
    t.equal(await page.locator('.key-row:visible').count(), 0, 'a revoked key is put away')
    await ended.click()
    await page.locator('.key-row', { hasText: 'old laptop' }).waitFor()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 401)

    await pressSignOut(page)
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/account')
    t.equal(new URL(page.url()).pathname, '/sign-in', 'the account is closed to whoever comes next')
    t.same(problems, [])
  })

  t.test('sign-in explains errors at the field, and six digits submit', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in')
    const address = page.getByLabel('Email address')
    const send = page.getByRole('button', { name: 'Send me a code' })
    await send.click()
    await page.getByText('Fill in this field.').waitFor()
    await address.fill('mei@')
    await send.click()
    await page.getByText('Enter a whole address, such as name@example.com.').waitFor()
    t.equal(await address.getAttribute('aria-invalid'), 'true')
    await address.fill('mei@example.com')
    await send.click()
    const field = page.getByRole('textbox', { name: 'Code from the email' })
    await field.fill('12')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('Enter the six digits from the email.').waitFor()
    const code = await waitForEmailCode(gateway, 'mei@example.com')
    await field.fill(code === '000000' ? '000001' : '000000')
    await page.getByText('This code is not right, or it has expired.').waitFor()
    t.equal(await page.getByText(/^Ref: /).count(), 0, 'no reference for a mistyped code')
    t.equal(
      await page.evaluate('getSelection().toString()'),
      code === '000000' ? '000001' : '000000',
      'the wrong code is selected',
    )

    await page.reload()
    await field.waitFor()
    t.match(await page.getByText('Check your email').textContent(), 'mei@example.com', 'a reload keeps the step')
    await page.getByRole('button', { name: /^A new code can be sent in \d+ s$/, disabled: true }).waitFor()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate(`navigator.clipboard.writeText('Your code is ${code.replace(/^.../, '$& ')}, for 5 minutes')`)
    await field.press('ControlOrMeta+V')
    await page.waitForURL('**/account')
    const moved = await page.evaluate(layoutShiftScript)
    t.ok(Number(moved) < 0.1, `the page stays where it is while it fills (${String(moved)})`)
    await pressSignOut(page)
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/sign-in')
    t.equal(await field.count(), 0, 'after signing in the step is over')

    await page.getByRole('link', { name: 'Password', exact: true }).click()
    const panel = page.locator('.sign-in')
    await panel.getByLabel('Email address').fill('mei@example.com')
    await panel.getByLabel('Password', { exact: true }).fill('not the password')
    await panel.getByRole('button', { name: 'Show password' }).click()
    t.equal(await panel.getByLabel('Password', { exact: true }).getAttribute('type'), 'text')
    await panel.getByRole('button', { name: 'Sign in', exact: true }).click()
    await panel.getByText('The email address or the password is not right.').waitFor()
    t.equal(await panel.getByLabel('Password', { exact: true }).inputValue(), '', 'a password is not written back')
    await panel.getByRole('link', { name: /Forgot the password/ }).click()
    await page.getByRole('button', { name: 'Send me a code' }).waitFor()
    t.equal(await address.inputValue(), 'mei@example.com', 'the address is kept')
  })

  t.test('a magic link names the account that it opens, and opens it once, on confirmation', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in?next=/keys')
    await page.getByLabel('Email address').fill('mei@example.com')
    await page.getByRole('button', { name: 'Send me a code' }).click()
    const link = `/sign-in/link#${await waitForMagicLink(gateway, 'mei@example.com')}`
    await page.getByText('works for an hour').waitFor()
    await page.goto(link)
    await page.getByText('This link signs in to the account of m***@example.com.').waitFor()
    t.notMatch(page.url(), '#', 'the word is out of the address bar')
    await Promise.all([page.waitForURL('**/keys'), page.getByRole('button', { name: 'Sign in' }).click()])
    await page.goto(link)
    await page.getByText('This link has been used or has expired.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Sign in', exact: true }).count(), 0)
  })

  t.test('a magic link returns to the page that requested it, not to a page visited later', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await signInByCode(page, gateway, 'mei@example.com', '/sign-in?next=/keys')
    await pressSignOut(page)
    await page.waitForURL(`${gateway.url}/`)
    await new Visitor(gateway).post('auth/otp/start', { email: 'lee@example.com' })
    await page.goto(`/sign-in/link#${await waitForMagicLink(gateway, 'lee@example.com')}`)
    await page.locator('.sign-in').getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL((url) => url.pathname !== '/sign-in/link')
    t.equal(new URL(page.url()).pathname, '/account')
  })

  t.test('an older session sets a password with a code that the page sends', async (t) => {
    let now = Date.now() - 7 * 86_400_000
    const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account')
    now += 6 * 86_400_000
    await page.goto('/account/security')
    await page.getByLabel('New password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('A code was sent to your address.').waitFor()
    t.equal(await page.getByLabel('New password').inputValue(), '', 'a password is not written back')
    await page.locator('#password-code').fill(await waitForEmailCode(gateway, 'mei@example.com', 2))
    await page.getByLabel('New password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('Saved. Your other sessions have ended.').waitFor()
  })

  t.test('sign up with a password and an invitation, by keyboard alone; then sign in with it', async (t) => {
    const gateway = await startGateway(t)
    const inviter = await openBrowserSession(browser, gateway.url)
    t.teardown(() => inviter.context.close())
    await openSignedIn(inviter.page, gateway, 'host@example.com', '/account/boosts')
    const link = (await inviter.page.getByRole('group', { name: 'Your invitation link' }).locator('code').textContent()) ?? ''
    t.match(link, `${gateway.url}/sign-in?invite=`)

    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are invited' }).waitFor()
    await page.getByRole('link', { name: 'Sign up' }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Choose a password').waitFor()
    await page.getByRole('link', { name: 'Sign up' }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.type('guest@example.com')
    await page.keyboard.press('Tab')
    await page.keyboard.type('correct horse battery')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Code from the email' }).waitFor()
    await page.keyboard.type(await waitForEmailCode(gateway, 'guest@example.com'))
    await Promise.all([page.waitForURL('**/account'), page.keyboard.press('Enter')])

    await pressSignOut(page)
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/sign-in?next=/keys')
    await page.getByRole('link', { name: 'Password', exact: true }).click()
    await page.getByLabel('Email address').fill('guest@example.com')
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/keys')
    t.same(problems, [])
  })

  t.test('the menu on a phone has every link and works by keyboard', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { viewport: { width: 360, height: 740 } })
    t.teardown(() => context.close())
    await page.goto('/docs')
    const menu = page.locator('summary', { hasText: 'Menu' })
    await menu.focus()
    await page.keyboard.press('Enter')
    const way = page.locator('.menu-panel').getByRole('link', { name: 'Sign in' })
    await way.waitFor()
    await page.keyboard.press('Escape')
    await way.waitFor({ state: 'hidden' })
    t.equal(await page.evaluate('document.activeElement.localName'), 'summary', 'and the focus is where it was')
    t.same(problems, [])
  })

  t.test('checks in once a day, and switches usage emails on and off', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account/boosts')
    await page.getByRole('button', { name: 'Check in' }).click()
    await page.getByText('The credits have been added.').waitFor()
    await page.getByText('5,000 of 5,000 left').waitFor()
    await page.getByText(/Checked in\. Next one/).waitFor()
    t.equal(await page.getByRole('button', { name: 'Check in' }).count(), 0)

    await page.goto('/account/profile')
    const choice = page.getByLabel('Send me an email at 80 % and at 100 %')
    const save = page.getByRole('button', { name: 'Save' })
    await choice.check()
    await save.click()
    await page.getByText('Saved. You get an email').waitFor()
    const { id = '' } = (await gateway.services.store.accounts.find('mei@example.com')) ?? {}
    const reader = await gateway.services.store.usageAlerts.findSubscriber(id)
    t.same(reader, { language: 'en', timeZone: await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone') })
    await page.reload()
    t.equal(await choice.isChecked(), true)
    await choice.uncheck()
    await save.click()
    await page.getByText('Saved. No more emails').waitFor()
    t.equal(await gateway.services.store.usageAlerts.findSubscriber(id), undefined)
    t.same(problems, [])
  })

  t.test('deletes an account after its address was typed', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/account/security')
    await page.locator('summary', { hasText: 'Delete my account' }).click()
    const dialog = page.getByRole('dialog')
    t.equal(await dialog.locator('[type=password], [name=code]').count(), 0, 'the sign-in a moment ago is proof enough')
    await dialog.getByLabel('to confirm').fill('somebody@example.com')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('to confirm').fill('mei@example.com')
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.equal(await gateway.services.store.accounts.find('mei@example.com'), undefined)
    t.same(problems, [])
  })

  t.test('requires the password again to delete an account that signs in by password', async (t) => {
    const gateway = await startGateway(t)
    const { store, ids, clock } = gateway.services
    const at = clock.now()
    const password = 'violet teapot orbit'
    const passwordHash = await hashPassword(password)
    const email = 'mei@example.com'
    await store.accounts.create({ id: ids.next('acc_', at), email, plan: 'free', passwordHash, emailVerified: true, at })
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Password', exact: true }).click()
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.locator('.sign-in').getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(`${gateway.url}/account`)
    await page.goto('/account/security')
    await page.locator('summary', { hasText: 'Delete my account' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('to confirm').fill(email)
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await dialog.getByRole('alert').waitFor()
    t.ok(await store.accounts.find(email), 'the session alone does not do')
    await dialog.getByLabel('Current password').fill(password)
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.equal(await store.accounts.find(email), undefined)
    t.same(problems, [])
  })
}

/** Cumulative layout shift of a page that has loaded, as browsers count it. */
const layoutShiftScript = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  const look = () => (document.querySelector('[aria-busy=true]') === null ? setTimeout(() => resolve(sum), 300) : setTimeout(look, 50))
  look()
})`
