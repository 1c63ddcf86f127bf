import type { Browser } from 'playwright-core'
import t from 'tap'
import { Browser as Visitor, codeFor, linkFor } from '../support/browser.ts'
import { openChromium, visitor } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { openAs, signInByCode } from '../support/site.ts'

const browser = await openChromium(t)
if (browser !== undefined) journeys(browser)

function journeys(browser: Browser): void {
  t.test('sign up by mail code, make a key, see it once, use it, revoke it', async (t) => {
    const gateway = await startGateway(t)
    const { page, problems, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())

    await page.goto('/')
    await page.getByRole('link', { name: 'Start for free' }).first().click()
    await signInByCode(page, gateway, 'mei@example.com', page.url())
    t.equal(new URL(page.url()).pathname, '/account')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.getByRole('meter', { name: 'Today' }).first().waitFor()
    t.equal(await page.getByRole('meter').count(), 6, 'each pool is shown for day, week and month')

    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'API keys' }).click()
    await page.getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('region', { name: 'Key', exact: true })
    const token = (await shown.textContent()) ?? ''
    t.match(token, /^svc_live_[0-9A-Za-z]{38}$/)

    const reply = await gateway.chat(token, { model: 'auto' })
    t.equal(reply.status, 200)
    t.match(await reply.json(), { object: 'chat.completion' }, 'the key works')

    await page.reload()
    await page.getByRole('row', { name: /laptop/ }).waitFor()
    t.notMatch(await page.content(), token, 'and is not shown again')

    await page.getByRole('button', { name: 'Revoke the key laptop' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'a question answered with no changes nothing')
    await page.getByRole('button', { name: 'Revoke the key laptop' }).click()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'nor does Enter, pressed without looking')
    for (const width of [768, 900, 1024]) {
      await page.setViewportSize({ width, height: 800 })
      const box = await page.getByRole('button', { name: 'Revoke the key laptop' }).boundingBox()
      t.ok(box !== null && box.x + box.width <= width, `at ${width} px the way to revoke is on the screen`)
    }
    await page.getByRole('button', { name: 'Revoke the key laptop' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key “laptop” is revoked.').waitFor()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 401)

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/account')
    t.equal(new URL(page.url()).pathname, '/sign-in', 'the account is closed to whoever comes next')
    t.same(problems, [])
  })

  t.test('a wrong code and a wrong password say what to do, with a reference', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in')
    await page.getByRole('tabpanel').getByLabel('Email address').fill('mei@example.com')
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByRole('textbox', { name: 'Code from the mail' }).fill('000000')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('The email, password or code is not correct.').waitFor()
    t.match(await page.getByText(/^Ref: /).textContent(), /^Ref: mbr_\w+ · invalid_credentials · stage=auth · HTTP 401$/)
    t.equal(await page.getByRole('alert').getByRole('link').count(), 0, 'no link leads away from the field for the right code')
    const field = page.getByRole('textbox', { name: 'Code from the mail' })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate("navigator.clipboard.writeText('Your code is 123 456, for 5 minutes')")
    await field.fill('')
    await field.press('ControlOrMeta+V')
    t.equal(await field.inputValue(), '123456', 'a code is found in what was pasted with it')
    await field.fill(` ${(await codeFor(gateway, 'mei@example.com')).replace(/^.../, '$& ')} `)
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.waitForURL('**/account')
    const moved = await page.evaluate(shifts)
    t.ok(Number(moved) < 0.1, `the page stays where it is while it fills (${String(moved)})`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/sign-in')

    await page.getByRole('tab', { name: 'Password' }).click()
    await page.getByRole('tabpanel').getByLabel('Email address').fill('mei@example.com')
    await page.getByRole('tabpanel').getByLabel('Password').fill('not the password')
    await page.getByRole('tabpanel').getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('tabpanel', { name: 'Password' }).getByText('The email, password or code is not correct.').waitFor()
  })

  t.test('the link of a letter says whose account it opens, and opens it when asked to, once', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in?next=/keys')
    await page.getByRole('tabpanel').getByLabel('Email address').fill('mei@example.com')
    await page.getByRole('button', { name: 'Send me a code' }).click()
    const link = `/sign-in/link#${await linkFor(gateway, 'mei@example.com')}`
    await page.getByText('its link for an hour').waitFor()
    await page.goto(link)
    await page.getByText('This link signs in to the account of m***@example.com.').waitFor()
    t.notMatch(page.url(), '#', 'the word is out of the address bar')
    await Promise.all([page.waitForURL('**/keys'), page.getByRole('button', { name: 'Sign in' }).click()])
    await page.goto(link)
    await page.getByText('This link has been used or is too old.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Sign in', exact: true }).count(), 0)
  })

  t.test('a link leads on to where its own letter was asked for, not to where somebody went before', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await signInByCode(page, gateway, 'mei@example.com', '/sign-in?next=/keys')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    await new Visitor(gateway).post('auth/otp/start', { email: 'lee@example.com' })
    await page.goto(`/sign-in/link#${await linkFor(gateway, 'lee@example.com')}`)
    await page.locator('[data-form=link] button').click()
    await page.waitForURL((url) => url.pathname !== '/sign-in/link')
    t.equal(new URL(page.url()).pathname, '/account')
  })

  t.test('a password is set by an older session with a code that the page sends for', async (t) => {
    let now = Date.now() - 7 * 86_400_000
    const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await openAs(page, gateway, 'mei@example.com', '/account')
    now += 6 * 86_400_000
    await page.goto('/account')
    await page.getByLabel('New password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('A code was sent to your address.').waitFor()
    await page.locator('#password-code').fill(await codeFor(gateway, 'mei@example.com', 2))
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('Saved. Your other sessions have ended.').waitFor()
    t.equal(await page.locator('#password-code').isVisible(), false)
  })

  t.test('sign up with a password and an invitation, by keyboard alone; then sign in with it', async (t) => {
    const gateway = await startGateway(t)
    const inviter = await visitor(browser, gateway.url)
    t.teardown(() => inviter.context.close())
    await openAs(inviter.page, gateway, 'host@example.com', '/account')
    const link = (await inviter.page.getByRole('region', { name: 'Your invitation link' }).textContent()) ?? ''
    t.match(link, `${gateway.url}/sign-in?invite=`)

    const { page, context, problems } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are invited' }).waitFor()
    await page.getByRole('tab', { name: 'Email code' }).focus()
    await page.keyboard.press('ArrowLeft')
    t.equal(await page.getByRole('tab', { name: 'Sign up' }).getAttribute('aria-selected'), 'true')
    await page.keyboard.press('Tab')
    await page.keyboard.type('guest@example.com')
    await page.keyboard.press('Tab')
    await page.keyboard.type('correct horse battery')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Code from the mail' }).waitFor()
    await page.keyboard.type(await codeFor(gateway, 'guest@example.com'))
    await Promise.all([page.waitForURL('**/account'), page.keyboard.press('Enter')])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    await page.goto('/sign-in?next=/keys')
    await page.getByRole('tab', { name: 'Password' }).click()
    await page.getByRole('tabpanel').getByLabel('Email address').fill('guest@example.com')
    await page.getByRole('tabpanel').getByLabel('Password').fill('correct horse battery')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/keys')
    t.same(problems, [])
  })

  t.test('on a phone the menu has every way, opens and closes by keyboard', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await visitor(browser, gateway.url, { viewport: { width: 360, height: 740 } })
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

  t.test('boosts: check in once a day, with the pack on the page', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await openAs(page, gateway, 'mei@example.com', '/account')
    await page.getByRole('button', { name: 'Check in' }).click()
    await page.getByText('5,000 credits added.').waitFor()
    await page.getByText('5,000 of 5,000 left').waitFor()
    await page.getByText(/Checked in\. Next one/).waitFor()
    t.equal(await page.getByRole('button', { name: 'Check in' }).count(), 0)
    t.same(problems, [])
  })

  t.test('an account is deleted by whoever can type its address, and is gone', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await openAs(page, gateway, 'mei@example.com', '/account')
    await page.getByRole('button', { name: 'Delete my account' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('to confirm').fill('somebody@example.com')
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('to confirm').fill('mei@example.com')
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.equal(await gateway.services.store.accounts.find('mei@example.com'), undefined)
    t.same(problems, [])
  })

  t.test('whoever signed in by password gives it once more to delete the account', async (t) => {
    const gateway = await startGateway(t)
    const { store, ids, clock, membership } = gateway.services
    const at = clock.now()
    const password = 'violet teapot orbit'
    const passwordHash = await membership.passwords.hash(password)
    const email = 'mei@example.com'
    await store.accounts.create({ id: ids.next('acc_', at), email, plan: 'free', passwordHash, emailVerified: true, at })
    const { page, context, problems } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await page.goto('/sign-in')
    await page.getByRole('tab', { name: 'Password' }).click()
    await page.getByLabel('Email address').nth(1).fill(email)
    await page.getByRole('tabpanel').getByLabel('Password').fill(password)
    await page.getByRole('tabpanel').getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${gateway.url}/account`)
    await page.getByRole('button', { name: 'Delete my account' }).click()
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

/** Cumulative layout shift of a page that has filled, as browsers count it. */
const shifts = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  const look = () => (document.querySelector('[aria-busy=true]') === null ? setTimeout(() => resolve(sum), 300) : setTimeout(look, 50))
  look()
})`
