/**
 * Every page, signed out and signed in, loaded in English and light at 1280 pixels and in Chinese and dark at 360, then resized from 320 to
 * 1920. axe's findings depend on language, colours and width, and each of these is covered.
 */
import type { BrowserContextOptions } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { createUnsubscribeToken } from '../../../src/domain/billing/email-link-token.ts'
import { pages } from '../../../src/pages/pages.ts'
import { findAccessibilityViolations, openChromium, openBrowserSession } from '../../support/website/chromium.ts'
import type { BrowserSession } from '../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../support/website/page-checks.ts'
import type { LoadMeter } from '../../support/website/page-checks.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { openSignedIn } from '../../support/website/sign-in.ts'

/** The pages of programs differ in their text only; one of them is looked at, and the widths of the others. */
const isAlike = (path: string) => path.startsWith('/docs/tools/') && path !== '/docs/tools/codex'

/** Those with a part that only a request gives are looked at where there is one: `test/system/e2e/website/sign-in/oauth-consent.test.ts`. */
const pathsFor = (...whom: readonly string[]): string[] =>
  pages.filter((page) => whom.includes(page.audience) && !page.path.includes(':')).map(({ path }) => path)

const open = [...pathsFor('everyone', 'guests').filter((path) => !isAlike(path)), '/sign-in?invite=ABC', '/no-such-page']
/** Of the pages for everyone, most show a member nothing but another header. */
const members = ['/', '/plans?plan=max-20x', ...pathsFor('members')]

/** As long as the address of a member can be. */
const longAddress = '2001:db8:8524:a3f1:5d1a:8a2e:8370:7334'
const maxShift = 0.05
/** The page of a device sends its form at once: these are two pages, of which a browser with a cache loads the files once. */
const maxBytes = (path: string) => (path === '/chat' || path.startsWith('/device?') ? 80_000 : 60_000)

interface Visitor extends BrowserSession {
  readonly meter: LoadMeter
  readonly language: string
}

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('no page keeps anybody out: axe, the content policy, weight, movement, 320 to 1920 pixels', async (t) => {
    const gateway = await startGateway(t, { site: { status: true }, listen: { trustedProxies: ['127.0.0.1'] } })
    const visit = async (language: string, options: BrowserContextOptions): Promise<Visitor> => {
      const session = await openBrowserSession(browser, gateway.url, { locale: language, ...options })
      return { ...session, language, meter: await startLoadMeter(session) }
    }
    const reader = { colorScheme: 'dark', viewport: { width: 360, height: 740 }, hasTouch: true } as const
    const visitor = await visit('en', {
      colorScheme: 'light',
      timezoneId: findTimeZoneAtNoon(),
      extraHTTPHeaders: { 'x-forwarded-for': longAddress },
    })
    const guest = await visit('zh-CN', reader)
    // The page of a link that is not valid is the failure page.
    const token = createUnsubscribeToken(gateway.services.secret, 'acc_1')
    const withToken = (path: string) => (path === '/unsubscribe' ? `${path}?token=${token}` : path)
    for (const path of open.map(withToken)) await inspectPage(t, path, visitor, guest)
    for (const path of pathsFor('everyone').filter(isAlike)) {
      await visitor.page.goto(path)
      t.same(await findFaultsAtWidths(visitor.meter.session, [320, 480, 1280]), [], path)
    }
    await fillAccount(gateway, visitor)
    const member = await visit('zh-CN', { ...reader, storageState: await visitor.context.storageState() })
    for (const path of [...members.map(withToken), await startDeviceLogin(gateway)]) await inspectPage(t, path, visitor, member)
    await inspectRefusedPages(t, gateway, visitor, member)
    for (const { context, problems } of [visitor, guest, member]) {
      t.same(problems, [], 'no script failed, nothing was refused, nothing was loaded from elsewhere')
      await context.close()
    }
  })

/** A time zone where it is past noon now: `12:34 PM` is the widest time, and is to fit into each table at any hour that this runs. */
function findTimeZoneAtNoon(): string {
  const hour = new Date().getUTCHours()
  // The sign of these names is the other way round: `Etc/GMT-3` is three hours ahead.
  return hour === 12 ? 'Etc/UTC' : `Etc/GMT${hour > 12 ? '+' : '-'}${Math.abs(hour - 12)}`
}

async function inspectPage(t: Test, path: string, atDesk: Visitor, onPhone: Visitor): Promise<void> {
  for (const visitor of [atDesk, onPhone]) await checkPage(t, path, visitor)
  t.ok(await onPhone.page.evaluate("matchMedia('(pointer: coarse)').matches"), 'with a finger')
  t.same(await onPhone.page.evaluate(findZoomingFields), [], `${path} has fields that iOS does not zoom in on`)
}

async function checkPage(t: Test, path: string, { page, meter, language }: Visitor): Promise<void> {
  await meter.open(path)
  const place = `${path} (${language})`
  t.ok(meter.bytes > 5_000 && meter.bytes <= maxBytes(path), `${place} weighs ${meter.bytes} bytes`)
  const shift = await meter.readShift()
  t.ok(shift <= maxShift, `${place} moves by ${shift}`)
  t.equal(await page.evaluate('document.documentElement.lang'), language, `${path} is in the reader’s language`)
  // A sample of JSON may have such a value after its key.
  const shown = String(await page.evaluate('document.body.innerText')).replaceAll(/"?[\w-]+"?: (?:null|false)/g, '')
  t.notMatch(shown, /\b(undefined|NaN|null|false)\b|\[object|(?<!\$)\{\w+\}|Invalid Date/, `${path} shows no value that is none`)
  t.same(await findAccessibilityViolations(page), [], `${place} has no barrier`)
  t.same(await page.evaluate(findUnannouncedLists), [], `${path} has lists that Safari announces`)
  t.same(await findFaultsAtWidths(meter.session), [], `${place} keeps its lines and tables at every width`)
}

/** The pages of a refused method and of a fault of ours. */
async function inspectRefusedPages(t: Test, gateway: TestGateway, atDesk: Visitor, onPhone: Visitor): Promise<void> {
  for (const { page } of [atDesk, onPhone]) await page.route('**/plans?refused', (route) => route.continue({ method: 'DELETE' }))
  await inspectPage(t, '/plans?refused', atDesk, onPhone)
  t.match(await atDesk.page.locator('main').innerText(), '405')
  gateway.services.credentials.resolve = () => Promise.reject(new Error('the store is closed'))
  await inspectPage(t, '/plans', atDesk, onPhone)
  t.match(await atDesk.page.locator('main').innerText(), '500')
}

/** Safari announces a list without markers only in navigation or with the role. */
const findUnannouncedLists = `[...document.querySelectorAll('ul, ol')]
  .filter((list) => getComputedStyle(list).listStyleType === 'none' && list.closest('nav') === null && list.getAttribute('role') !== 'list')
  .map((list) => list.className)`

/** iOS zooms in on a field whose text is smaller, and stays there. */
const findZoomingFields = `[...document.querySelectorAll('input:not([type=radio], [type=checkbox], [type=range], [type=file]), select, textarea')]
  .filter((field) => parseFloat(getComputedStyle(field).fontSize) < 16)
  .map((field) => field.id || field.name)`

/** Begins the login of a device and returns the page that asks about it. */
async function startDeviceLogin(gateway: TestGateway): Promise<string> {
  const response = await fetch(`${gateway.url}/api/membership/auth/device/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client: 'svc-cli', client_version: '0.1.0', hostname: 'build-box' }),
  })
  const { user_code: code } = (await response.json()) as { readonly user_code: string }
  return `/device?user_code=${code}`
}

/** Signs in and leaves something to see on each page. */
async function fillAccount(gateway: TestGateway, { page }: BrowserSession): Promise<void> {
  await openSignedIn(page, gateway, 'mei@example.com', '/account/boosts')
  await page.getByRole('button', { name: 'Check in' }).click()
  await page.getByText('The credits have been added.').waitFor()
  await page.goto('/chat')
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
  await page.keyboard.press('Enter')
  await page.getByText(/tokens in, \d+ out/).waitFor()
  await page.goto('/keys')
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('link', { name: 'I have copied it' }).click()
  await page.locator('.key-row', { hasText: 'laptop' }).waitFor()
}
