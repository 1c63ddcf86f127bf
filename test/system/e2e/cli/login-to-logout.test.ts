/** The path of a member at a terminal: login approved in a real browser, then every command of the service, then logout. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { waitForEmailCode } from '../../../support/gateway/website-client.ts'
import { openChromium } from '../../../support/website/chromium.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { startGateway, createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { openTerminal } from '../../../support/cli/terminal.ts'

t.test(
  'logs in with a click in a browser, then chats, searches, makes a picture, checks in, shows usage and logs out',
  async (t) => {
    const gateway = await startGateway(t)
    const { url } = gateway
    const page = await (await openChromium(t))?.newPage({ locale: 'en-US' })
    const home = createTemporaryFolder(t)
    const terminal = await openTerminal(t, { SVC_SITE_URL: url, XDG_CONFIG_HOME: home, DISPLAY: '', WAYLAND_DISPLAY: '' })
    if (terminal === undefined || page === undefined) return

    await t.test('login', async (t) => {
      const ended = terminal.run('svc login', 60_000)
      const shown = await terminal.waitFor(/^The code there must be: \S+$/m)
      const address = /http\S+\/device\?user_code=\S+/.exec(shown)?.[0] ?? ''
      const code = /user_code=(\S+)/.exec(address)?.[1] ?? ''
      await page.goto(address)
      await signInOnPage(page, gateway, 'traveller@example.com')
      await page.waitForURL(/\/device/)
      await page.getByText(code, { exact: true }).waitFor()
      t.match(await page.locator('main').innerText(), /svc-cli/, 'the page says which program asks')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Connected').waitFor()
      t.match(await ended, { exitCode: 0, output: /^Signed in at http\S+ · \S+ · free\.$/m })
    })

    await t.test('whoami, models, plans', async (t) => {
      t.match(await terminal.run('svc whoami'), { exitCode: 0, output: /· free · http\S+ \(session from svc login\)/ })
      t.match(await terminal.run('svc models'), { exitCode: 0, output: /^svc-2\.1 /m })
      t.match(await terminal.run('svc plans'), { exitCode: 0, output: /^Max /m })
    })

    await t.test('a streamed chat, rendered on the terminal', async (t) => {
      const { output, exitCode } = await terminal.run(`svc chat 'demo:{"text":"# Heading\\nwith **bold** words"}'`)
      t.match(output, /^Heading\n\nwith bold words$/m)
      t.equal(exitCode, 0)
      // tmux writes both styles in one sequence or in two.
      const screen = await terminal.readStyledScreen()
      t.match(screen.replaceAll('m\u001b[', ';'), '1;4mHeading')
    })

    await t.test('a search with its sources', async (t) => {
      t.match(await terminal.run('svc search "what is a gateway"'), { exitCode: 0, output: /^\[1\] \S.*\n {4}http\S+$/m })
    })

    await t.test('a picture, saved as a file', async (t) => {
      t.match(await terminal.run(`svc image "a lighthouse" -o ${home}/lighthouse.png`), { exitCode: 0 })
      t.equal(readFileSync(join(home, 'lighthouse.png')).subarray(1, 4).toString('latin1'), 'PNG')
    })

    await t.test('a check-in, once a day', async (t) => {
      t.match(await terminal.run('svc boost checkin'), { exitCode: 0, output: /^Checked in\. \+\S+$/m })
      t.match(await terminal.run('svc boost checkin'), {
        exitCode: 1,
        output: /^Ref: mbr_\w+ · boost_unavailable · stage=membership · HTTP 409$/m,
      })
      t.match(await terminal.run('svc boost'), { exitCode: 0, output: /^Check-in: done, next at \d{1,2} \w{3} \d\d:\d\d/m })
      t.match(await terminal.run('svc usage'), { exitCode: 0, output: /^Plan: Free$[^]*^Boost packs:$/m })
      t.match(
        await terminal.run('svc usage --turns'),
        { exitCode: 0, output: / svc-img +settled / },
        'the picture is among the turns',
      )
    })

    await t.test('logout ends the session at the service, not only locally', async (t) => {
      const { sites } = JSON.parse(readFileSync(join(home, 'svc', 'credentials.json'), 'utf8'))
      const authorization = `Bearer ${sites[new URL(url).origin].token}`
      const status = async () => (await fetch(`${url}/v1/models`, { headers: { authorization } })).status
      t.equal(await status(), 200)
      t.match(await terminal.run('svc logout'), { exitCode: 0, output: /^Signed out of http/m })
      t.match(await terminal.run('svc whoami'), {
        exitCode: 4,
        output: /^error: You are not signed in at .*\n {2}run: svc login$/m,
      })
      t.equal(await status(), 401)
    })

    await t.test('reports a denied login as denied', async (t) => {
      const ended = terminal.run('svc login', 60_000)
      const shown = await terminal.waitFor(/^The code there must be: \S+$/m)
      await page.goto(/http\S+\/device\?user_code=\S+/.exec(shown)?.[0] ?? '')
      await page.getByRole('button', { name: 'Deny' }).click()
      t.match(await ended, { exitCode: 4, output: /^Ref: mbr_\w+ · access_denied · stage=auth · HTTP 400$/m })
    })
  },
)

/** Signs in on the page at the device's address, with the code from the email. */
async function signInOnPage(page: Page, gateway: TestGateway, email: string): Promise<void> {
  await page.waitForURL(/\/sign-in/)
  const panel = page.locator('.sign-in')
  await panel.getByLabel('Email address').fill(email)
  await panel.getByRole('button', { name: 'Send me a code' }).click()
  // Six digits submit.
  await panel.getByLabel('Code from the email').fill(await waitForEmailCode(gateway, email))
}
