/**
 * A member's journeys by links and forms alone, in a browser whose scripts are off: every other one on a phone, the others on a wide screen,
 * and what they meet at all widths.
 */
import { readFileSync } from 'node:fs'
import type { Browser, Locator, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { OAuthTestClient } from '../../../../support/gateway/oauth-client.ts'
import { startCallbackListener } from '../../../../support/website/callback-listener.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient, readEmailsTo, waitForEmailCode, waitForMagicLink } from '../../../../support/gateway/website-client.ts'
import { findFaultsAtWidths } from '../../../../support/website/page-checks.ts'
import { openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { openSignedIn } from '../../../../support/website/sign-in.ts'

interface Journey {
  readonly gateway: TestGateway
  readonly page: Page
  readonly isPhone: boolean
  /** Every line and table of the page is whole from 320 to 1280 pixels. */
  readonly checkWidths: (what: string) => Promise<void>
}

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser)

function runJourneys(browser: Browser): void {
  let count = 0
  const test = (title: string, path: string, run: (t: Test, journey: Journey) => Promise<void>): void => {
    const isPhone = count++ % 2 === 0
    const width = isPhone ? 360 : 1280
    t.test(`${title}, at ${width} pixels`, async (t) => {
      const gateway = await startGateway(t)
      const viewport = { width, height: 740 }
      const { page, context, problems } = await openBrowserSession(browser, gateway.url, { javaScriptEnabled: false, viewport })
      t.teardown(() => context.close())
      const session = await context.newCDPSession(page)
      const checkWidths = async (what: string): Promise<void> => {
        t.same(await findFaultsAtWidths(session, [320, 360, 768, 1280]), [], what)
      }
      await (path.startsWith('/sign-in') ? page.goto(path) : openSignedIn(page, gateway, 'mei@example.com', path))
      t.equal(await page.locator('noscript').count(), 0, 'the page needs no script')
      await run(t, { gateway, page, isPhone, checkWidths })
      t.same(
        problems.filter((problem) => !problem.startsWith('left the site: http://127.0.0.1:')),
        [],
      )
    })
  }

  test('signs in by code, with a double click on each button', '/sign-in?next=/keys', async (t, journey) => {
    const { gateway, page, checkWidths } = journey
    const address = page.getByLabel('Email address')
    const send = page.getByRole('button', { name: 'Send me a code' })
    await address.fill('mei@example.com')
    await send.dblclick()
    const field = page.getByLabel('Code from the email')
    await field.waitFor()
    await checkWidths('the field for the code')
    await page.reload()
    await page.goBack()
    await page.goForward()
    const code = await waitForEmailCode(gateway, 'mei@example.com')
    t.equal(readEmailsTo(gateway, 'mei@example.com').length, 1, 'a double click sends one email')
    await page.getByRole('button', { name: 'Send a new code' }).click()
    await page.getByText('Too many attempts').waitFor()
    await field.fill('12')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('Enter the six digits').waitFor()
    await field.fill(code === '000000' ? '000001' : '000000')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('This code is not right').waitFor()
    await page.getByRole('link', { name: 'Use another address' }).click()
    t.equal(await address.inputValue(), 'mei@example.com')
    await address.fill('')
    await send.click()
    await page.getByText('Fill in this field.').waitFor()
    await address.fill('mei@')
    await send.click()
    await page.getByText('Enter a whole address').waitFor()
    t.equal(await address.inputValue(), 'mei@', 'what was typed is kept')
    await checkWidths('a refused address')
    await page.goto('/sign-in?next=/keys')
    await field.fill(code)
    await pressTwice(page.getByRole('button', { name: 'Continue', exact: true }), `${gateway.url}/keys`)
    const { id = '' } = (await gateway.services.store.accounts.find('mei@example.com')) ?? {}
    t.equal((await gateway.services.store.sessions.list(id)).length, 1, 'a double click opens one session')
    await page.goto('/sign-in')
    await page.waitForURL(`${gateway.url}/account`)
  })

  test('signs up with a password and an invitation, then signs in with it', '/sign-in?invite=ABC', async (t, journey) => {
    const { gateway, page, checkWidths } = journey
    await page.getByRole('link', { name: 'Sign up' }).click()
    const password = page.getByLabel('Choose a password')
    await page.getByLabel('Email address').fill('mei@example.com')
    await password.fill('short')
    await page.getByRole('button', { name: 'Make my account' }).click()
    await page.getByText('The password is too short').waitFor()
    t.equal(await page.getByLabel('Email address').inputValue(), 'mei@example.com')
    t.equal(await page.getByLabel('Invitation code').inputValue(), 'ABC')
    t.equal(await password.inputValue(), '', 'a password is not written back')
    await checkWidths('a refused password')
    await password.fill('correct horse battery')
    await page.getByRole('button', { name: 'Make my account' }).click()
    await page.getByLabel('Code from the email').fill(await waitForEmailCode(gateway, 'mei@example.com'))
    await page.keyboard.press('Enter')
    await page.waitForURL(`${gateway.url}/account`)
    await page.context().clearCookies()
    await page.goto('/sign-in?way=password&next=/sessions')
    await page.getByLabel('Email address').fill('mei@example.com')
    await page.getByLabel('Password', { exact: true }).fill('correct horse batteries')
    await page.keyboard.press('Enter')
    await page.getByText('The email address or the password is not right.').waitFor()
    t.equal(await page.getByLabel('Email address').inputValue(), 'mei@example.com')
    t.notMatch(await page.content(), 'batteries')
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await pressTwice(page.locator('.sign-in').getByRole('button', { name: 'Sign in', exact: true }), `${gateway.url}/sessions`)
    const { id = '' } = (await gateway.services.store.accounts.find('mei@example.com')) ?? {}
    t.equal((await gateway.services.store.sessions.list(id)).length, 2, 'a double click opens one session')
  })

  test('signs in by the link of an email, which is pasted', '/sign-in?next=/keys', async (t, { gateway, page, checkWidths }) => {
    await page.getByLabel('Email address').fill('mei@example.com')
    await page.getByRole('button', { name: 'Send me a code' }).click()
    const link = `${gateway.url}/sign-in/link#${await waitForMagicLink(gateway, 'mei@example.com')}`
    await page.goto(link)
    const field = page.getByLabel('Link from your email')
    const inspect = page.getByRole('button', { name: 'Continue', exact: true })
    await field.fill('#not-a-link')
    await inspect.click()
    await page.getByText('This link has been used or has expired.').waitFor()
    t.equal(await field.inputValue(), '#not-a-link', 'what was typed is kept')
    await checkWidths('a refused link')
    await field.fill(link)
    await inspect.click()
    await page.getByText('This link signs in to the account of m***@example.com.').waitFor()
    t.notMatch(page.url(), '#')
    await checkWidths('the question')
    await page.reload()
    await pressTwice(page.locator('.sign-in').getByRole('button', { name: 'Sign in', exact: true }), `${gateway.url}/keys`)
    await page.context().clearCookies()
    await page.goto(link)
    await field.fill(link)
    await inspect.click()
    await page.getByText('This link has been used or has expired.').waitFor()
  })

  test('makes, renames and revokes a key', '/keys', async (t, { gateway, page, checkWidths }) => {
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Fill in this field.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('laptop')
    await page.getByLabel('Expires').selectOption('In 90 days')
    await page.getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('region', { name: 'Key', exact: true })
    const token = (await shown.textContent()) ?? ''
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 200, 'the key works')
    t.equal(await shown.evaluate((node) => node.scrollWidth <= node.clientWidth), true, 'the key is whole')
    await page.getByText('Claude Code', { exact: true }).click()
    t.match(await page.getByRole('region', { name: '~/.claude/settings.json' }).textContent(), token)
    await checkWidths('a new key')
    await page.reload()
    await page.getByText('This key was created before').waitFor()
    t.notMatch(await page.content(), token)
    t.equal(await page.locator('.key-row').count(), 1, 'a reload makes no second key')
    await page.goto('/keys')
    await page.getByLabel('Rename the key laptop').first().click()
    await checkWidths('the question')
    await page.getByRole('dialog').getByLabel('Name').fill('x'.repeat(64))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The key has its new name.').waitFor()
    await page.goBack()
    await page.goForward()
    await page.reload()
    await page
      .getByLabel(/^Revoke the key x+$/)
      .first()
      .click()
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page
      .getByLabel(/^Revoke the key x+$/)
      .first()
      .click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked.').waitFor()
    t.equal((await gateway.chat(token, { model: 'auto' })).status, 401)
    await checkWidths('the list')
  })

  test('ends a session, then all others, and reads the security log', '/sessions', async (t, { gateway, page, checkWidths }) => {
    const { store, clock } = gateway.services
    const { id: account } = (await store.accounts.find('mei@example.com')) ?? { id: '' }
    const at = clock.now()
    for (const index of [1, 2, 3]) {
      const hash = new Uint8Array(32).fill(index)
      const session = {
        account,
        kind: 'cli',
        method: 'device',
        client: `laptop ${index}`,
        address: null,
        createdAt: at,
        hash,
      } as const
      await store.sessions.create({ ...session, id: `ses_${index}`, expiresAt: at + 86_400_000 })
    }
    await page.reload()
    await page.getByRole('button', { name: 'End the session laptop 2' }).click()
    await page.getByText('The session has ended.').waitFor()
    await page.getByRole('button', { name: 'End all others' }).click()
    await page.getByText('All other sessions have ended.').waitFor()
    t.equal(await page.getByRole('button', { name: 'End all others' }).count(), 0)
    await page.getByText('2 sessions ended').waitFor()
    await checkWidths('sessions')
  })

  test('checks in once a day and copies the invitation', '/account/boosts', async (t, { page, checkWidths }) => {
    await page.getByRole('button', { name: 'Check in' }).click()
    await page.getByText('The credits have been added.').waitFor()
    await page.getByText('5,000 of 5,000 left').waitFor()
    await page.goBack()
    t.equal(await page.getByRole('button', { name: 'Check in' }).count(), 0)
    t.match(await page.getByRole('group', { name: 'Your invitation link' }).textContent(), '/sign-in?invite=')
    await checkWidths('boosts')
  })

  test('switches usage emails on and off', '/account/profile', async (t, { page, checkWidths }) => {
    const choice = page.getByLabel('Send me an email at 80 % and at 100 %')
    for (const isOn of [true, false]) {
      await choice.setChecked(isOn)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText(isOn ? 'Saved. You get an email' : 'Saved. No more emails').waitFor()
      t.equal(await choice.isChecked(), isOn)
    }
    await checkWidths('profile')
  })

  test('changes the password and the address, and deletes the account', '/account/security', async (t, journey) => {
    const { gateway, page, checkWidths } = journey
    const password = page.getByLabel('New password')
    await password.fill('short')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('The password is too short').waitFor()
    t.equal(await password.inputValue(), '')
    await password.fill('correct horse battery')
    await page.keyboard.press('Enter')
    await page.getByText('Saved. Your other sessions have ended.').waitFor()
    const address = page.getByLabel('New email address')
    await address.fill('no address')
    await page.getByRole('button', { name: 'Send a code there' }).click()
    await page.getByText('Enter a whole address').waitFor()
    t.equal(await address.inputValue(), 'no address', 'what was typed is kept')
    await address.fill('mei@new.example')
    await page.getByRole('button', { name: 'Send a code there' }).click()
    await page.getByText('A code was sent to mei@new.example').waitFor()
    await page.reload()
    const code = await waitForEmailCode(gateway, 'mei@new.example')
    for (const typed of [code === '000000' ? '000001' : '000000', code]) {
      await page.getByLabel('Code from the email').fill(typed)
      await page.getByRole('button', { name: 'Change the address' }).click()
    }
    await page.getByText('Saved. Your account has the new address now.').waitFor()
    await page.locator('summary', { hasText: 'Delete my account' }).click()
    await checkWidths('security')
    const confirm = page.getByLabel('Type mei@new.example to confirm')
    await confirm.fill('mei@example.com')
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByText('This is not the account').waitFor()
    await confirm.fill('mei@new.example')
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.equal(await gateway.services.store.accounts.find('mei@new.example'), undefined)
  })

  test('reads its usage by key and its turns by page, and exports them', '/account', async (t, journey) => {
    const { gateway, page, checkWidths } = journey
    await page.getByRole('heading', { name: 'Start here' }).waitFor()
    await checkWidths('the first steps')
    await page.getByRole('button', { name: 'Make a key' }).click()
    const token = (await page.getByRole('region', { name: 'Key', exact: true }).textContent()) ?? ''
    const { accounts } = gateway.services.store
    await accounts.setPlan((await accounts.find('mei@example.com'))?.id ?? '', 'pro')
    for (let index = 0; index < 11; index += 1) await (await gateway.chat(token, { model: 'auto' })).text()
    await gateway.waitUntilSettled()
    await page.goto('/account')
    await page.getByText(/credits in 11 turns\./).waitFor()
    await page.getByText('<1%').first().waitFor()
    await page.getByLabel('Group by').selectOption('key')
    await page.getByRole('button', { name: 'Show' }).first().click()
    await page.locator('.chart-legend').getByText('First key').waitFor()
    t.equal(await page.getByLabel('Group by').inputValue(), 'key')
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('Page 2').waitFor()
    t.equal(await page.locator('.rows > li').count(), 1)
    await page.locator('summary', { hasText: 'Filter' }).click()
    await page.locator('#filter-credential').selectOption('web')
    await page.getByRole('button', { name: 'Show' }).last().click()
    await page.getByRole('link', { name: 'Show all turns' }).click()
    await page.locator('.rows summary').first().click()
    await page.locator('.rows').getByText('Chat Completions').first().waitFor()
    await checkWidths('usage')
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export CSV' }).click()])
    t.equal(
      readFileSync(await file.path(), 'utf8')
        .trimEnd()
        .split('\r\n').length,
      12,
    )
  })

  test('approves one device and denies another', '/device', async (t, { gateway, page, checkWidths }) => {
    const start = async (): Promise<{ readonly user_code: string; readonly verification_uri_complete: string }> =>
      (await new WebsiteClient(gateway).post('auth/device/start', { client: 'svc-cli', hostname: 'build-box' })).body
    await page.getByLabel('Code').fill('ZZZZ-ZZZZ')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('This code is unknown').waitFor()
    t.equal(await page.getByLabel('Code').inputValue(), 'ZZZZ-ZZZZ')
    await page.getByLabel('Code').fill((await start()).user_code.toLowerCase().replace('-', ' '))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('build-box').waitFor()
    await checkWidths('the question')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByRole('heading', { name: 'Connected' }).waitFor()
    await page.reload()
    await page.getByText('You have decided about this device before.').waitFor()
    await page.goto((await start()).verification_uri_complete)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
  })

  test('approves a program, which is led back to', '/account', async (t, { gateway, page, checkWidths }) => {
    const { address, callbackParams } = await startCallbackListener(t)
    const program = new OAuthTestClient(gateway)
    await program.register({ client_name: 'Notebook', redirect_uris: [address] })
    await page.goto(program.authorizePath({ redirect_uri: address }))
    await page.getByRole('heading', { name: 'Let this program use the web search?' }).waitFor()
    await checkWidths('the question')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    const code = (await callbackParams).get('code')
    t.equal((await program.exchangeCode(code, { redirect_uri: address })).status, 200)
  })

  // The menu is another one on a phone.
  for (const _ of [1, 2])
    test('signs out', '/sessions', async (t, { gateway, page, isPhone }) => {
      await page
        .locator('summary:visible', { hasText: isPhone ? 'Menu' : 'm' })
        .first()
        .click()
      await page.locator('.menu[open]').getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL(`${gateway.url}/`)
      await page.goto('/sessions')
      t.match(page.url(), '/sign-in?next=')
    })
}

/** The second press ends the navigation of the first one, and waiting for a navigation would fail with it. */
async function pressTwice(button: Locator, url: string): Promise<void> {
  await button.dblclick()
  await waitUntil(() => button.page().url() === url, url)
  await button.page().waitForLoadState()
}
