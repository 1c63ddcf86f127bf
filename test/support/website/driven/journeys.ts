/** What a member does on the website from the first visit to sign-out, in an engine that is not the one of the other tests. */
import type { Test } from 'tap'
import { pages } from '../../../../src/pages/pages.ts'
import { OAuthTestClient } from '../../gateway/oauth-client.ts'
import type { TestGateway } from '../../gateway/test-gateway.ts'
import { waitForEmailCode, waitForMagicLink } from '../../gateway/website-client.ts'
import { waitUntil } from '../../wait-until.ts'
import { startCallbackListener } from '../callback-listener.ts'
import { startHttpsGateway } from '../https-gateway.ts'
import type { DrivenPage } from './driven-page.ts'

const memberPaths = pages.filter(({ audience, path }) => audience === 'members' && !path.includes(':')).map(({ path }) => path)
/** The narrowest of each layout, where a page is the first to scroll sideways; Chromium sees every width. */
const widths = [320, 577, 833] as const

/** The journeys follow each other as one member's day, because a browser's start costs more than all of them. */
export function runJourneys(t: Test, page: DrivenPage, gateway: TestGateway): void {
  t.test('no page for visitors scrolls sideways, in either language', async (t) => {
    for (const language of ['zh', 'en'])
      for (const path of ['/', '/plans', '/docs', '/sign-in']) await checkWidths(t, `${path}?lang=${language}`)
  })

  t.test('signs in with a domain beyond ASCII, with the code of the letter, after a reload', async (t) => {
    await page.driver.resize(1280, 800)
    await page.open('/sign-in?next=/keys')
    await page.fill('#code-email', 'mei@')
    await page.press('Enter')
    await page.waitForText('Enter a whole address')
    // The page's script selects the refused address.
    await page.waitFor(`document.readyState === 'complete'`)
    await page.type('mei@bücher.example')
    await page.press('Enter')
    await page.waitForText('mei@bücher.example')
    const code = await waitForEmailCode(gateway, 'mei@xn--bcher-kva.example')
    await page.driver.reload()
    await page.waitForText('mei@bücher.example')
    await page.fill('input.code', code)
    await page.waitForPath('/keys')
    t.match(await page.read<string>('document.cookie'), /^(?!.*session)/, 'scripts cannot read the session')
  })

  t.test('creates a key, moves the focus to it, and keeps the revoke dialog closed to Escape and Enter', async (t) => {
    await page.fill('#create-name', 'laptop')
    await page.press('Enter')
    await page.waitFor("document.querySelector('.created code')?.textContent.length > 20")
    t.match(await page.read<string>('document.activeElement.textContent'), /\S/, 'the heading has the focus')
    const revoke = '.key-row .danger-quiet'
    // Without a screen Firefox has no active window, and Enter presses no button there.
    const keys = (await page.read('document.hasFocus()')) === true ? (['Escape', 'Enter'] as const) : (['Escape'] as const)
    for (const key of keys) {
      await page.click(revoke)
      await page.waitFor("document.querySelector('dialog[open]')")
      await page.press(key)
      await page.waitFor(`!document.querySelector('dialog[open]')`)
    }
    t.ok(await page.read(`document.querySelector('${revoke}') !== null`), 'the key is not revoked')
  })

  t.test('no page for members scrolls sideways', async (t) => {
    for (const path of memberPaths) await checkWidths(t, path)
    await page.driver.resize(1280, 800)
  })

  t.test('renders an answer as it arrives, stops it, and does not send at the Enter that ends a composition', async (t) => {
    gateway.demo.script(() => ({
      text: 'See **bold** words and [a link](https://example.com).\n\n' + 'word '.repeat(4000),
      betweenMs: 10,
    }))
    await page.open('/chat')
    await page.fill('#message', 'ni hao')
    await page.read(`(() => {
      const field = document.querySelector('#message')
      field.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '你好' }))
      const key = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })
      Object.defineProperty(key, 'keyCode', { value: 229 })
      field.dispatchEvent(key)
    })()`)
    t.equal(await page.read('document.querySelectorAll(".message").length'), 0, 'nothing was sent')
    await page.press('Enter')
    await page.waitFor(
      'document.querySelector(\'.theirs strong\') && document.querySelector(\'.theirs a[href="https://example.com/"], .theirs a[href="https://example.com"]\')',
    )
    await page.press('Escape')
    await page.waitForText('Stopped')
    await gateway.waitUntilSettled()
  })

  t.test('tells of a page that was left in mid-answer, not of a broken connection', async (t) => {
    for (const leave of ['another page', 'a reload'] as const) {
      const count = await page.read<number>('document.querySelectorAll(".theirs").length')
      await page.fill('#message', 'Go on')
      await page.press('Enter')
      await page.waitFor(
        `document.querySelectorAll('.theirs').length > ${count} && [...document.querySelectorAll('.theirs')].at(-1).innerText.includes('word word')`,
      )
      if (leave === 'a reload') await page.driver.reload()
      else {
        await page.click('nav.wide a[href="/keys"]')
        await page.waitForPath('/keys')
        await page.driver.back()
      }
      await page.waitForPath('/chat')
      await page.waitForText('The page was left while this was written')
      t.notMatch(await page.read<string>('document.body.innerText'), 'The connection broke', leave)
    }
    await gateway.waitUntilSettled()
  })

  t.test('shows the reference of an upstream failure and answers when the member tries again', async (t) => {
    gateway.demo.script(() => ({ status: 500 }))
    await page.fill('#message', 'Hello?')
    await page.press('Enter')
    await page.waitForText('stage=upstream · HTTP 502')
    await page.waitForText('Choose another model.')
    gateway.demo.script(() => ({ text: 'fine now' }))
    await page.clickButton('Try again')
    await page.waitForText('fine now')
    t.notMatch(await page.read<string>('document.body.innerText'), 'stage=upstream', 'the failed try is gone')
  })

  t.test('approves a device by a code typed in lower case with a blank', async () => {
    const post = async (step: string, body: unknown) => {
      const response = await fetch(`${gateway.url}/api/membership/auth/device/${step}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return (await response.json()) as Readonly<Record<string, string>>
    }
    const started = await post('start', { client: 'svc-cli', client_version: '0.1.0', hostname: 'build-box' })
    await page.open('/device')
    await page.fill('#lookup-user_code', String(started['user_code']).toLowerCase().replace('-', ' '))
    await page.press('Enter')
    await page.waitForText('build-box')
    await page.click('.verdict .button:not(.quiet)')
    await page.waitFor("document.querySelector('.verdict-mark.good')")
    await waitUntil(
      async () => (await post('poll', { device_code: started['device_code'] }))['status'] !== 'pending',
      'the device to be told',
    )
  })

  t.test('approves a program by OAuth consent and leads back to its port on this computer', async (t) => {
    const { address, callbackParams } = await startCallbackListener(t)
    const program = new OAuthTestClient(gateway)
    await program.register({ client_name: 'Notebook', redirect_uris: [address] })
    await page.open(program.authorizePath({ redirect_uri: address }))
    await page.waitForText('Let this program use the web search?')
    await page.clickButton('Approve')
    await page.waitForText('Done. You can close this page.')
    const code = (await callbackParams).get('code')
    t.equal((await program.exchangeCode(code, { redirect_uri: address })).status, 200)
  })

  t.test('shows no member’s page again after sign-out', async (t) => {
    await page.open('/account/profile')
    await page.waitForText('mei@xn--bcher-kva.example')
    await page.click('.account-menu summary')
    await page.click('.account-menu [data-sign-out]')
    await page.waitFor("document.querySelector('dialog[open]')")
    await page.click('dialog[open] .danger-quiet')
    await page.waitForPath('/')
    await page.driver.back()
    await page.waitForPath('/sign-in')
    t.notMatch(await page.read<string>('document.body.innerText'), 'mei@')
  })

  t.test('signs in over https by the link of the letter, and keeps a message when the session ends', async (t) => {
    const secured = await startHttpsGateway(t)
    if (secured === undefined) return
    const { services } = secured.gateway
    const email = 'ada@example.com'
    await page.driver.navigate(`${secured.site}/sign-in?next=/chat`)
    await page.fill('#code-email', email)
    await page.press('Enter')
    await page.waitForText(email)
    const link = await waitForMagicLink(secured.gateway, email)
    await page.driver.navigate(`${secured.site}/sign-in/link#${link}`)
    await page.waitForText('This link signs in')
    await page.click('main form .button')
    await page.waitForPath('/chat')
    const cookies = await page.driver.listCookies()
    const session = cookies.find(({ name }) => name === services.names.cookie)
    t.match(session, { secure: true, httpOnly: true, sameSite: /^lax$/i }, 'the cookie of the session is for this host alone')
    t.same(
      cookies.filter((each) => each !== session && !(each.name.startsWith('__Host-') && each.secure)),
      [],
    )
    const { id = '' } = (await services.store.accounts.find(email)) ?? {}
    await services.store.sessions.endOthers(id, '')
    services.credentials.invalidateEverywhere(id)
    await page.fill('#message', 'And then?')
    await page.press('Enter')
    await page.waitForText('You are not signed in, or your session or key is no longer valid.')
    await page.waitFor(`document.querySelector('.messages a[href="/sign-in?next=%2Fchat"]')`)
    await page.waitForText('And then?')
  })

  t.test('no script failed and the content policy refused nothing', async (t) => {
    t.same(page.driver.listProblems(), [])
  })

  async function checkWidths(t: Test, path: string): Promise<void> {
    // From narrow to wide: WebKit keeps the wide layout of a page that becomes narrow at once, from just above where that layout begins.
    await page.driver.resize(widths[0], 800)
    await page.open(path)
    await page.waitFor("!document.querySelector('[aria-busy=true]')")
    const tooWide: number[] = []
    for (const width of widths) {
      await page.driver.resize(width, 800)
      const { scrollWidth, clientWidth } = await page.read<{ scrollWidth: number; clientWidth: number }>(
        '(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)',
      )
      if (scrollWidth > clientWidth) tooWide.push(width)
    }
    t.same(tooWide, [], path)
  }
}
