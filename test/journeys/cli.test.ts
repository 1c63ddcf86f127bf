/** The whole way of a person at a terminal: login approved in a real browser, then every command of the service, then logout. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { codeFor } from '../support/browser.ts'
import { openChromium } from '../support/chromium.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway, temporaryFolder } from '../support/gateway.ts'
import { openTerminal } from '../support/terminal.ts'

t.test(
  'login by device flow with the approval clicked in a browser, then chat, search, a picture, check-in, usage, logout',
  async (t) => {
    const gateway = await startGateway(t)
    const { url } = gateway
    const page = await (await openChromium(t))?.newPage({ locale: 'en-US' })
    const home = temporaryFolder(t)
    const terminal = await openTerminal(t, { SVC_SITE_URL: url, XDG_CONFIG_HOME: home, DISPLAY: '', WAYLAND_DISPLAY: '' })
    if (terminal === undefined || page === undefined) return

    await t.test('login', async (t) => {
      const ended = terminal.run('svc login', 60_000)
      const shown = await terminal.until(/^The code there must be: \S+$/m)
      const address = /http\S+\/device\?user_code=\S+/.exec(shown)?.[0] ?? ''
      const code = /user_code=(\S+)/.exec(address)?.[1] ?? ''
      await page.goto(address)
      await signIn(page, gateway, 'traveller@example.com')
      await page.waitForURL(/\/device/)
      await page.getByText(code, { exact: true }).waitFor()
      t.match(await page.locator('main').innerText(), /svc-cli/, 'the page says which program asks')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Connected').waitFor()
      t.match(await ended, { exit: 0, shown: /^Signed in at http\S+ · \S+ · free\.$/m })
    })

    await t.test('whoami, models, plans', async (t) => {
      t.match(await terminal.run('svc whoami'), { exit: 0, shown: /· free · http\S+ \(session from svc login\)/ })
      t.match(await terminal.run('svc models'), { exit: 0, shown: /^svc-2\.1 /m })
      t.match(await terminal.run('svc plans'), { exit: 0, shown: /^Max /m })
    })

    await t.test('a streamed chat, rendered on the terminal', async (t) => {
      const { shown, exit } = await terminal.run(`svc chat 'demo:{"text":"# Heading\\nwith **bold** words"}'`)
      t.match(shown, /^Heading\nwith bold words$/m)
      t.equal(exit, 0)
      t.match(await terminal.styledScreen(), '\u001b[1mHeading')
    })

    await t.test('a search with its sources', async (t) => {
      t.match(await terminal.run('svc search "what is a gateway"'), { exit: 0, shown: /^\[1\] \S.*\n {4}http\S+$/m })
    })

    await t.test('a picture, saved as a file', async (t) => {
      t.match(await terminal.run(`svc image "a lighthouse" -o ${home}/lighthouse.png`), { exit: 0 })
      t.equal(readFileSync(join(home, 'lighthouse.png')).subarray(1, 4).toString('latin1'), 'PNG')
    })

    await t.test('a check-in, once a day', async (t) => {
      t.match(await terminal.run('svc boost checkin'), { exit: 0, shown: /^Checked in\. \+\S+$/m })
      t.match(await terminal.run('svc boost checkin'), {
        exit: 1,
        shown: /^Ref: mbr_\w+ · boost_unavailable · stage=membership · HTTP 409$/m,
      })
      t.match(await terminal.run('svc boost'), { exit: 0, shown: /^Check-in: done, next at \d{4}-/m })
      t.match(await terminal.run('svc usage'), { exit: 0, shown: /^Plan: Free$[^]*^Boost packs:$/m })
      t.match(await terminal.run('svc usage --turns'), { exit: 0, shown: / svc-img +settled / }, 'the picture is among the turns')
    })

    await t.test('logout ends the session at the service, not only here', async (t) => {
      const { sites } = JSON.parse(readFileSync(join(home, 'svc', 'credentials.json'), 'utf8'))
      const authorization = `Bearer ${sites[new URL(url).origin].token}`
      const status = async () => (await fetch(`${url}/v1/models`, { headers: { authorization } })).status
      t.equal(await status(), 200)
      t.match(await terminal.run('svc logout'), { exit: 0, shown: /^Signed out of http/m })
      t.match(await terminal.run('svc whoami'), { exit: 4, shown: /^error: You are not signed in at .*\n {2}run: svc login$/m })
      t.equal(await status(), 401)
    })

    await t.test('a denied login is told as one', async (t) => {
      const ended = terminal.run('svc login', 60_000)
      const shown = await terminal.until(/^The code there must be: \S+$/m)
      await page.goto(/http\S+\/device\?user_code=\S+/.exec(shown)?.[0] ?? '')
      await page.getByRole('button', { name: 'Deny' }).click()
      t.match(await ended, { exit: 4, shown: /^Ref: mbr_\w+ · access_denied · stage=auth · HTTP 400$/m })
    })
  },
)

/** Signs in on the page the device's address leads to, with the code from the mail. */
async function signIn(page: Page, gateway: TestGateway, email: string): Promise<void> {
  await page.waitForURL(/\/sign-in/)
  const panel = page.getByRole('tabpanel')
  await panel.getByLabel('Email address').fill(email)
  await panel.getByRole('button', { name: 'Send me a code' }).click()
  await panel.getByLabel('Code from the mail').fill(await codeFor(gateway, email))
  await panel.getByRole('button', { name: 'Continue' }).click()
}
