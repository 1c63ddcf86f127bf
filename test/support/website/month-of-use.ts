/** A gateway with a month of use behind it, for pictures of its pages: turns, keys, packs, a rush, a device that is signed in. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import base from '../../../gateway.config.ts'
import { checkConfig } from '../../../src/config/config.ts'
import { openRush } from '../../../src/domain/services/boost-service.ts'
import { startFakeUpstream } from '../upstream/server.ts'
import { openGateway } from '../../../src/server/serving-thread.ts'
import type { Gateway } from '../../../src/server/serving-thread.ts'
import { findProgram } from '../require-program.ts'
import { launchChromium } from './chromium.ts'
import { signInByCode } from './sign-in.ts'
import { createClock } from '../../../src/system/clock.ts'

const dayMs = 86_400_000
const monthMs = 29 * dayMs
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36'

export type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

export interface StartedDevice {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri_complete: string
}

export interface UsedGateway {
  readonly gateway: Gateway
  /** Of the member who used it for a month. */
  readonly cookies: Cookies
  /** Signs in a new member, who has used nothing. */
  readonly signIn: (email: string) => Promise<Cookies>
  /** Signs in a member who has used up the Premium models of the day, and has a pack from the daily check-in. */
  readonly signInWithoutPremium: (email: string) => Promise<Cookies>
  readonly startDevice: () => Promise<StartedDevice>
  /** Moves the clock on, so that what follows has its own minute of requests. */
  readonly passMinute: () => void
  readonly close: () => Promise<void>
}

/** Chromium, and the fonts without which the pictures differ from machine to machine. */
export function launchForPictures(): Promise<Browser> {
  const executablePath = findProgram('chromium') ?? findProgram('google-chrome')
  if (executablePath === undefined) throw new Error('The pictures need Chromium: apt-get install chromium.')
  for (const [family, name] of [
    ['Inter', 'fonts-inter'],
    ['Noto Sans CJK SC', 'fonts-noto-cjk'],
  ] as const)
    if (!execFileSync('fc-list', [family], { encoding: 'utf8' }).trim())
      throw new Error(`The pictures need the font ${family}: apt-get install ${name} fontconfig.`)
  return launchChromium(executablePath)
}

export async function openUsedGateway(browser: Browser, port = 8787): Promise<UsedGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-pictures-'))
  const config = checkConfig({
    ...base,
    listen: { host: '127.0.0.1', port },
    store: { dataDir },
    log: { level: 'silent' },
    limits: { addressRpm: 100_000 },
  })
  let lateBy = monthMs
  // The monotonic clock moves along, or the requests of a month would exceed the limit of one minute.
  const clock = createClock({ now: () => Date.now() - lateBy, monotonicMs: () => performance.now() + monthMs - lateBy })
  const gateway = await openGateway({ config, clock, startDemo: (clock) => startFakeUpstream({ scripted: true, clock }) })
  // So that the server's clock does not run ahead of the browser's.
  const minutesToPass = 5 * 61_000
  const passMinute = () => void (lateBy -= 61_000)
  const startDevice = () =>
    post(gateway, 'auth/device/start', {
      client: 'svc-cli',
      client_version: '0.1.0',
      hostname: 'build-box',
    }) as Promise<StartedDevice>
  const signIn = (email: string, use: (page: Page) => Promise<void> = () => Promise.resolve()) =>
    signInAs(browser, gateway, email, use)
  const email = 'mei.lin@example.com'
  const account = await createAccount(gateway, email, clock.now())
  const { token } = (await gateway.services.membership.apiKeys.createUnaudited(account, 'laptop editor', null))!
  for (let day = 0; day < 30; day++) {
    lateBy = (29 - day) * dayMs + minutesToPass
    await useForADay(gateway, token, day)
  }
  await chat(gateway, token, { model: 'svc-2.1-pro', messages: [{ role: 'user', content: 'demo:{"status":500}' }] })
  await chat(gateway, token, { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] })
  lateBy = minutesToPass
  await gateway.services.membership.apiKeys.createUnaudited(account, 'nightly report', clock.now() + 90 * dayMs)
  await startRush(gateway, clock.now())
  const cookies = await signIn(email, async (page) => {
    await checkIn(page)
    const device = await startDevice()
    await page.goto(device.verification_uri_complete)
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByRole('heading', { name: 'Connected' }).waitFor()
    await post(gateway, 'auth/device/poll', { device_code: device.device_code })
  })
  return {
    gateway,
    cookies,
    signIn,
    async signInWithoutPremium(spentEmail) {
      const spent = await createAccount(gateway, spentEmail, clock.now())
      const key = (await gateway.services.membership.apiKeys.createUnaudited(spent, 'laptop', null))!
      for (let turn = 0; turn < 4; turn++) await usePremium(gateway, key.token)
      return signIn(spentEmail, checkIn)
    },
    startDevice,
    passMinute,
    async close() {
      await gateway.close({ drainMs: 500 })
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function checkIn(page: Page): Promise<void> {
  await page.goto('/account/boosts')
  await page.getByRole('button', { name: 'Check in' }).click()
  await page.getByText('The credits have been added.').waitFor()
}

/** A turn as large as one can be. */
async function usePremium(gateway: Gateway, token: string): Promise<void> {
  const messages = [{ role: 'user', content: 'demo:{"tokens":9000}' }]
  await chat(gateway, token, { model: 'svc-2.1', max_tokens: 8_000, messages })
}

async function createAccount({ services: { store, ids } }: Gateway, email: string, at: number): Promise<string> {
  const id = ids.next('acc_', at)
  await store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at })
  return id
}

/** More on some days than on others, as it is, yet the same in every picture. */
async function useForADay(gateway: Gateway, token: string, day: number): Promise<void> {
  for (let turn = 0; turn < (day * 7) % 5; turn++) {
    const model = turn % 3 === 0 ? 'svc-2.1' : 'auto'
    const script = `demo:${JSON.stringify({ tokens: 20_000 + ((day * 37 + turn * 11) % 9) * 9_000 })}`
    const messages = [{ role: 'user', content: script }]
    await chat(gateway, token, { model, max_tokens: model === 'auto' ? 16_000 : 7_000, messages })
  }
}

async function startRush({ services: { store, ids } }: Gateway, now: number): Promise<void> {
  const id = ids.next('rush_', now)
  const packs = { packs: 50, pool: 'premium', credits: 20_000, packMs: 3 * dayMs } as const
  await openRush(store.boosts, { id, ...packs, startsAt: now, endsAt: now + 7_200_000 }, now)
}

async function signInAs(
  browser: Browser,
  { services, url }: Gateway,
  email: string,
  use: (page: Page) => Promise<void>,
): Promise<Cookies> {
  const context = await browser.newContext({ baseURL: url, locale: 'en-GB', userAgent })
  const page = await context.newPage()
  await signInByCode(page, { config: services.config }, email)
  await use(page)
  const cookies = (await context.cookies()).filter(({ name }) => name === services.names.cookie)
  await context.close()
  return cookies
}

async function chat({ url }: Gateway, token: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })).arrayBuffer()
}

async function post({ url }: Gateway, endpoint: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${url}/api/membership/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

/** Sends messages on the chat page, each with a model, and waits for the answers. */
export async function converse(
  page: Page,
  ...messages: readonly { readonly model: string; readonly text: string }[]
): Promise<void> {
  for (const [index, { model, text }] of messages.entries()) {
    await page.locator('[data-picker] summary').click()
    await page.locator(`[data-picker] input[value="${model}"]`).check()
    // The list covers a part of the field and closes when the focus leaves it.
    await page.locator('#message').fill(text)
    await page.keyboard.press('Enter')
    await page.locator('.theirs .message-foot:not(:empty)').nth(index).waitFor()
  }
  await page.locator('#message').blur()
}

/** As WebP, which keeps a page with its letters sharp in a few dozen kilobytes. */
export async function captureWebp(page: Page, maxHeight: number, quality = 45): Promise<Buffer> {
  const { width = 0, height: low = 0 } = page.viewportSize() ?? {}
  const tall = Number(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({ width, height: Math.min(Math.max(tall, low), maxHeight) })
  await page.mouse.move(0, 0)
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
  return Buffer.from(data, 'base64')
}
