/** A passkey in Chromium with its virtual authenticator: added, used to sign in and for a fresh proof, cancelled, copied and removed. */
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { createOperator } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../../../support/website/page-checks.ts'

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('an operator uses a passkey in a real browser', async (t) => {
    const time = { now: Math.ceil(Date.now() / 30_000) * 30_000 }
    const port = await findFreePort()
    // Browsers allow passkeys at a name, and no engine but this one takes an address for one.
    const site = `http://localhost:${port}`
    const clock = createClock({ now: () => time.now })
    const gateway = await startGateway(t, { listen: { port, siteUrl: site } }, { clock })
    const operator = await createOperator(gateway, 'ann@example.com', 'owner')
    const session = await openBrowserSession(browser, site, { locale: 'en', viewport: { width: 360, height: 740 } })
    const { page, context } = session
    const meter = await startLoadMeter(session)
    await context.addCookies([...operator.browser.cookies].map(([name, value]) => ({ name, value, url: site })))
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const addAuthenticator = async (isUserVerified: boolean) =>
      cdp.send('WebAuthn.addVirtualAuthenticator', {
        options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified },
      })
    const { authenticatorId } = await addAuthenticator(true)
    const look = async (place: string) => {
      t.same(await findFaultsAtWidths(meter.session), [], place)
      t.same(await findAccessibilityViolations(page), [], place)
    }

    await page.goto('/operator')
    await page.getByRole('button', { name: 'Set up the second factor' }).click()
    const key = (await page.locator('.facts code').innerText()).replaceAll(' ', '')
    const totp = new TOTP({ secret: Secret.fromBase32(key) })
    const enterCode = async () => {
      await page.getByRole('textbox', { name: 'Code' }).fill(totp.generate({ timestamp: time.now }))
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    await enterCode()
    await page.getByRole('link', { name: 'I have stored them' }).click()
    await page.goto('/operator/session')
    await page.getByLabel('Name').fill('My phone')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('The passkey was added.').waitFor()
    t.match(await page.getByRole('table').innerText(), /My phone/)
    await look('the session with a passkey')
    await page.getByLabel('Name').fill('My phone again')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('This device has a passkey of your account already.').waitFor()

    const leave = async () => {
      await page.locator('main').getByRole('button', { name: 'Leave the console' }).click()
      await page.waitForURL(`${site}/`)
    }
    await leave()
    await meter.open('/operator')
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
    t.ok(meter.bytes <= 60_000, `${meter.bytes} bytes`)
    await look('the sign-in with a passkey')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${site}/operator?done=verified`)
    t.equal(await page.locator('.console-top').count(), 1)

    time.now += 10 * 60_000
    await page.goto('/operator/session')
    // Chromium reports a user who was not recognised as it does a cancelled dialog.
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('Nothing was sent: the request was cancelled').waitFor()
    await look('a cancelled request')
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('Your second factor was accepted.').waitFor()

    time.now += 10 * 60_000
    await page.goto(`/operator/members/${operator.account}`)
    await page.getByText('Correct credits', { exact: true }).first().click()
    const dialog = page.locator('dialog[open]')
    await dialog.getByLabel('Reason').fill('a gift')
    await dialog.getByLabel(/^Credits/).fill('5')
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(/done=/)
    t.same(session.problems, [])

    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    const [credential] = credentials
    if (credential === undefined) throw new Error('the authenticator has no credential')
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    const copy = await addAuthenticator(true)
    await cdp.send('WebAuthn.addCredential', { ...copy, credential: { ...credential, signCount: 0 } })
    time.now += 10 * 60_000
    await page.goto('/operator/session')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('it may have been copied').waitFor()
    time.now += 30_000
    await enterCode()
    await page.getByText('Your second factor was accepted.').waitFor()
    await page
      .getByRole('row', { name: /My phone/ })
      .locator('summary')
      .click()
    await page.locator('dialog[open]').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The passkey was removed.').waitFor()
    await leave()
    await page.goto('/operator')
    t.equal(await page.getByRole('textbox', { name: 'Code' }).count(), 1)
    t.equal(await page.getByRole('button', { name: 'Use a passkey' }).count(), 0)
    await context.close()

    const plain = await openBrowserSession(browser, site, { locale: 'zh-CN', javaScriptEnabled: false })
    await plain.context.addCookies([...operator.browser.cookies].map(([name, value]) => ({ name, value, url: site })))
    await plain.page.goto('/operator')
    await plain.page.getByLabel('验证码').fill(totp.generate({ timestamp: (time.now += 30_000) }))
    await plain.page.getByRole('button', { name: '继续' }).click()
    await plain.page.goto('/operator/session')
    t.match(await plain.page.locator('main').innerText(), /添加通行密钥需要支持它并启用脚本的浏览器/)
    t.equal(await plain.page.getByRole('button', { name: '添加通行密钥' }).count(), 0)
    await plain.context.close()
  })
