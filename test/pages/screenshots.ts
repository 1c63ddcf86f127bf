/**
 * The gallery: each page at 1280 and 360 pixels, light (English) and dark (Chinese), into `docs/screenshots/`. Run by hand after a
 * change of looks: `node test/pages/screenshots.ts [page …]`. What it shows happened: a month of turns, keys, packs, a device that waits.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import base from '../../gateway.config.ts'
import { checkConfig } from '../../src/config/config.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { openRush } from '../../src/membership/boost-desk.ts'
import { launch } from '../support/chromium.ts'
import { findProgram } from '../support/real-parts.ts'
import { signInByCode } from '../support/site.ts'

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url))
const dayMs = 86_400_000
const email = 'mei.lin@example.com'
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36'
const member = { path: '', signedIn: true } as const
const pages: Readonly<Record<string, { readonly path: string; readonly signedIn: boolean }>> = {
  home: { path: '/', signedIn: false },
  'sign-in': { path: '/sign-in', signedIn: false },
  docs: { path: '/docs', signedIn: false },
  'not-found': { path: '/no-such-page', signedIn: false },
  account: { ...member, path: '/account' },
  keys: { ...member, path: '/keys' },
  sessions: { ...member, path: '/sessions' },
  device: { ...member, path: '/device' },
  chat: { ...member, path: '/chat' },
}
const looks = [
  { width: 1280, height: 860, colorScheme: 'light', locale: 'en-GB' },
  { width: 1280, height: 860, colorScheme: 'dark', locale: 'zh-CN' },
  { width: 360, height: 780, colorScheme: 'light', locale: 'en-GB' },
  { width: 360, height: 780, colorScheme: 'dark', locale: 'zh-CN' },
] as const

const executablePath = findProgram('chromium') ?? findProgram('google-chrome')
if (executablePath === undefined) throw new Error('The gallery needs Chromium: apt-get install chromium.')
const wanted = process.argv.slice(2)
const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-gallery-'))
const config = checkConfig({
  ...base,
  listen: { host: '127.0.0.1', port: 8787 },
  store: { dataDir },
  log: { level: 'silent' },
  demo: { scripted: true },
  limits: { addressRpm: 100_000 },
})
let lateBy = 29 * dayMs
const clock = { now: () => Date.now() - lateBy, ticks: () => performance.now() }
const gateway = await openGateway({ config, clock })
const browser = await launch(executablePath)
mkdirSync(folder, { recursive: true })
try {
  const cookies = await live(gateway, browser)
  for (const look of looks) {
    const { width, height, colorScheme, locale } = look
    for (const [name, { path, signedIn }] of Object.entries(pages)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue
      const context = await browser.newContext({ baseURL: gateway.url, viewport: { width, height }, colorScheme, locale })
      if (signedIn) await context.addCookies(cookies)
      const page = await context.newPage()
      await page.goto(name === 'device' ? (await startDevice()).verification_uri_complete : path)
      // A locator, not a function: a page under our content policy may not be asked to evaluate text again and again.
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      if (name === 'chat') await converse(page)
      if (name === 'device') await page.locator('.user-code').waitFor()
      await shoot(page, `${name}-${width}-${colorScheme}.webp`, name === 'chat' ? height : 1400)
      await context.close()
    }
  }
} finally {
  await browser.close()
  await gateway.close({ drainMs: 500 })
  rmSync(dataDir, { recursive: true, force: true })
}

/** A month of use, ending now; gives back the cookies of whoever used it. */
async function live({ services, url }: Gateway, browser: Browser): Promise<Awaited<ReturnType<BrowserContext['cookies']>>> {
  const { store, ids } = services
  const at = clock.now()
  const id = ids.next('acc_', at)
  await store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at })
  const { token } = (await services.membership.keys.mint(id, 'laptop editor', null))!
  for (let day = 0; day < 30; day++) {
    lateBy = (29 - day) * dayMs
    // More on some days than on others, as it is, yet the same in every gallery.
    for (let turn = 0; turn < (day * 7) % 5; turn++) {
      const model = turn % 3 === 0 ? 'svc-2.1' : 'auto'
      const script = `demo:${JSON.stringify({ tokens: 20_000 + ((day * 37 + turn * 11) % 9) * 9_000 })}`
      await chat(url, token, {
        model,
        max_tokens: model === 'auto' ? 16_000 : 7_000,
        messages: [{ role: 'user', content: script }],
      })
    }
  }
  await chat(url, token, { model: 'svc-2.1-pro', messages: [{ role: 'user', content: 'demo:{"status":500}' }] })
  await chat(url, token, { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] })
  lateBy = 0
  await services.membership.keys.mint(id, 'nightly report', clock.now() + 90 * dayMs)
  const now = clock.now()
  await openRush(
    store.boosts,
    {
      id: ids.next('rush_', now),
      packs: 50,
      pool: 'premium',
      credits: 20_000,
      packMs: 3 * dayMs,
      startsAt: now,
      endsAt: now + 7_200_000,
    },
    now,
  )
  const context = await browser.newContext({ baseURL: url, locale: 'en-GB', userAgent })
  const page = await context.newPage()
  await signInByCode(page, { config: services.config }, email)
  await page.getByRole('button', { name: 'Check in' }).click()
  await page.getByText('credits added').waitFor()
  const device = await startDevice()
  await page.goto(device.verification_uri_complete)
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByRole('heading', { name: 'Connected' }).waitFor()
  await post('auth/device/poll', { device_code: device.device_code })
  const cookies = (await context.cookies()).filter(({ name }) => name === services.names.cookie)
  await context.close()
  return cookies
}

async function chat(url: string, token: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })).arrayBuffer()
}

interface StartedDevice {
  readonly device_code: string
  readonly verification_uri_complete: string
}

function startDevice(): Promise<StartedDevice> {
  return post('auth/device/start', {
    client: 'svc-cli',
    client_version: '0.1.0',
    hostname: 'build-box',
  }) as Promise<StartedDevice>
}

async function post(endpoint: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${gateway.url}/api/membership/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

async function converse(page: Page): Promise<void> {
  let answers = 0
  const say = async (text: string) => {
    await page.locator('#message').fill(text)
    await page.keyboard.press('Enter')
    await page.locator('.theirs .message-foot:not(:empty)').nth(answers++).waitFor()
  }
  await page.locator('#model').selectOption('svc-2.1')
  await say('How do plans and quota work here?')
  await page.locator('#model').selectOption('svc-img')
  await say('A lighthouse at dusk')
  await page.locator('#message').blur()
}

/** As WebP, which keeps a page with its letters sharp in a few dozen kilobytes. */
async function shoot(page: Page, file: string, tallest: number): Promise<void> {
  const { width = 0, height: low = 0 } = page.viewportSize() ?? {}
  const tall = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const height = Math.min(Math.max(tall, low), tallest)
  await page.setViewportSize({ width, height })
  await page.mouse.move(0, 0)
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 45 })
  writeFileSync(join(folder, file), Buffer.from(data, 'base64'))
}
