/** The whole way of a person at a terminal: login approved in a real browser, then every command of the service, then logout. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway, temporaryFolder, until } from '../support/gateway.ts'
import { requireProgram } from '../support/real-parts.ts'
import { openTerminal } from '../support/terminal.ts'

t.test(
  'login by device flow with the approval clicked in a browser, then chat, search, a picture, check-in, usage, logout',
  async (t) => {
    const { url, config } = await startGateway(t)
    const page = await openBrowser(t)
    const home = temporaryFolder(t)
    const terminal = await openTerminal(t, { SVC_SITE_URL: url, XDG_CONFIG_HOME: home, DISPLAY: '', WAYLAND_DISPLAY: '' })
    if (terminal === undefined || page === undefined) return

    await t.test('login', async (t) => {
      await terminal.type('clear; svc login; echo "exit=$?"')
      const shown = await terminal.until(/\/device\?user_code=\S+/)
      const address = /http\S+\/device\?user_code=\S+/.exec(shown)?.[0] ?? ''
      const code = /user_code=(\S+)/.exec(address)?.[1] ?? ''
      await page.goto(address)
      await signIn(page, 'traveller@example.com', join(config.store.dataDir, 'outbox'))
      await page.waitForURL(/\/device/)
      await page.getByText(code, { exact: true }).waitFor()
      t.match(await page.locator('main').innerText(), /svc-cli/, 'the page says which program asks')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Connected').waitFor()
      t.match(await terminal.until(/exit=\d/), /^Signed in at http\S+ · \S+ · free\.\nexit=0$/m)
    })

    await t.test('whoami, models, plans', async (t) => {
      await terminal.type('clear; svc whoami')
      t.match(await terminal.until(/session from svc login/), /· free · http/)
      await terminal.type('clear; svc models')
      await terminal.until(/^svc-2\.1 /m)
      await terminal.type('clear; svc plans')
      await terminal.until(/^Max /m)
      t.pass('both tables were shown')
    })

    await t.test('a streamed chat, rendered on the terminal', async (t) => {
      await terminal.type(`clear; svc chat 'demo:{"text":"# Heading\\nwith **bold** words"}'; echo "exit=$?"`)
      await terminal.until(/^Heading\nwith bold words\nexit=0$/m)
      t.match(await terminal.styledScreen(), '\u001b[1mHeading')
    })

    await t.test('a search with its sources', async (t) => {
      await terminal.type('clear; svc search "what is a gateway"; echo "exit=$?"')
      t.match(await terminal.until(/exit=\d/), /^\[1\] \S.*\n {4}http\S+$[^]*exit=0/m)
    })

    await t.test('a picture, saved as a file', async (t) => {
      await terminal.type(`clear; svc image "a lighthouse" -o ${home}/lighthouse.png; echo "exit=$?"`)
      await terminal.until(/exit=0/)
      t.equal(readFileSync(join(home, 'lighthouse.png')).subarray(1, 4).toString('latin1'), 'PNG')
    })

    await t.test('a check-in, once a day', async (t) => {
      await terminal.type('clear; svc boost checkin; svc boost checkin; echo "exit=$?"')
      const shown = await terminal.until(/exit=\d/)
      t.match(shown, /^Checked in\. \+\S+$/m)
      t.match(shown, /^Ref: mbr_\w+ · boost_unavailable · stage=membership · HTTP 409\nexit=1$/m)
      await terminal.type('clear; svc boost; svc usage; svc usage --turns; echo "exit=$?"')
      const status = await terminal.until(/exit=\d/)
      t.match(status, /^Check-in: done, next at \d{4}-/m)
      t.match(status, /^Plan: free$/m)
      t.match(status, / svc-img +settled /, 'the picture is among the turns')
      t.match(status, /exit=0/)
    })

    await t.test('logout ends the session at the service, not only here', async (t) => {
      const { sites } = JSON.parse(readFileSync(join(home, 'svc', 'credentials.json'), 'utf8'))
      const authorization = `Bearer ${sites[new URL(url).origin].token}`
      const status = async () => (await fetch(`${url}/v1/models`, { headers: { authorization } })).status
      t.equal(await status(), 200)
      await terminal.type('clear; svc logout; svc whoami; echo "exit=$?"')
      t.match(
        await terminal.until(/exit=\d/),
        /^Signed out of http\S+\.\nerror: You are not signed in at .*\n {2}run: svc login\nexit=4$/m,
      )
      t.equal(await status(), 401)
    })

    await t.test('a denied login is told as one', async (t) => {
      await terminal.type('clear; svc login; echo "exit=$?"')
      const address = /http\S+\/device\?user_code=\S+/.exec(await terminal.until(/user_code=\S+/))?.[0] ?? ''
      await page.goto(address)
      await page.getByRole('button', { name: 'Deny' }).click()
      t.match(await terminal.until(/exit=\d/), /^Ref: mbr_\w+ · access_denied · stage=auth · HTTP 400\nexit=4$/m)
    })
  },
)

async function openBrowser(t: Test): Promise<Page | undefined> {
  const executablePath = requireProgram(t, 'chromium', 'chromium-browser', 'google-chrome')
  if (executablePath === undefined) return undefined
  const browser = await chromium.launch({
    executablePath,
    // As root there is no sandbox to be had, and this browser sees nothing but the gateway on loopback.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  t.teardown(() => browser.close())
  return browser.newPage({ locale: 'en-US' })
}

/** Signs in on the page the device's address leads to, with the code from the mail. */
async function signIn(page: Page, email: string, outbox: string): Promise<void> {
  await page.waitForURL(/\/sign-in/)
  const panel = page.getByRole('tabpanel')
  await panel.getByLabel('Email address').fill(email)
  await panel.getByRole('button', { name: 'Send me a code' }).click()
  await panel.getByLabel('Code from the mail').waitFor()
  await until(() => codeIn(outbox) !== undefined, 'the mail')
  await panel.getByLabel('Code from the mail').fill(codeIn(outbox) ?? '')
  await panel.getByRole('button', { name: 'Continue' }).click()
}

/** The six digits that stand alone on a line of a mail. */
function codeIn(outbox: string): string | undefined {
  return mails(outbox)
    .map((mail) => /^\s*(\d{6})\s*$/m.exec(mail)?.[1])
    .find((code) => code !== undefined)
}

function mails(outbox: string): readonly string[] {
  let names: readonly string[]
  try {
    names = readdirSync(outbox).filter((name) => name.endsWith('.eml'))
  } catch {
    return []
  }
  return names.map((name) => {
    const [head = '', ...body] = readFileSync(join(outbox, name), 'utf8').split(/\r?\n\r?\n/)
    const text = body.join('\n\n')
    return /^content-transfer-encoding: base64/im.test(head) ? Buffer.from(text, 'base64').toString() : text
  })
}
