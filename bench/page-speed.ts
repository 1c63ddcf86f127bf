/**
 * Measures every page of the site as a first visit loads it, in a Chromium slowed down four times: when its largest part is painted (LCP),
 * and the bytes that are transferred. Prints a Markdown table; exits with 1 where a page exceeds a limit.
 *
 *   node bench/page-speed.ts [--rounds 3] [path …]
 */
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { createUnsubscribeToken } from '../src/domain/billing/email-link-token.ts'
import { pages } from '../src/pages/pages.ts'
import { OAuthTestClient } from '../test/support/gateway/oauth-client.ts'
import { findProgram } from '../test/support/require-program.ts'
import { launchChromium, openBrowserSession } from '../test/support/website/chromium.ts'
import { converse, openUsedGateway } from '../test/support/website/month-of-use.ts'
import type { UsedGateway } from '../test/support/website/month-of-use.ts'
import { startLoadMeter } from '../test/support/website/page-checks.ts'

const slowdown = 4
const maxLcpMs = 1000
const maxPageBytes = 60_000
const maxChatBytes = 90_000
/** Later paints than this after the page is complete do not count. */
const settleMs = 500

const looks = [
  { name: 'phone', viewport: { width: 360, height: 740 }, locale: 'zh-CN' },
  { name: 'desktop', viewport: { width: 1280, height: 800 }, locale: 'en-GB' },
] as const
type Look = (typeof looks)[number]

interface MeasuredPage {
  readonly name: string
  readonly path: string
  readonly isForMembers: boolean
  /** Before the measured visit, in the same browser. */
  readonly prepare?: (page: Page) => Promise<void>
}

interface Measurement {
  readonly lcpMs: number
  readonly bytes: number
}

// The helpers load tap, which would end this program after 30 seconds.
t.setTimeout(3_600_000)

const { values, positionals } = parseArgs({ options: { rounds: { type: 'string', default: '3' } }, allowPositionals: true })
const executablePath = findProgram('chromium-headless-shell') ?? findProgram('chromium') ?? findProgram('google-chrome')
if (executablePath === undefined) throw new Error('The measurement needs Chromium: apt-get install chromium.')
const browser = await launchChromium(executablePath)
try {
  const used = await openUsedGateway(browser, 0)
  const measured = (await listPages(used)).filter(({ path }) => positionals.length === 0 || positionals.includes(path))
  console.log('| Page | KB | LCP on a phone, ms | LCP on a desktop, ms | |\n|---|--:|--:|--:|---|')
  for (const page of measured) {
    const results = new Map<Look['name'], Measurement>()
    for (const look of looks) results.set(look.name, await measureMedian(browser, used, page, look))
    if (!report(page, results)) process.exitCode = 1
  }
  await used.close()
} finally {
  await browser.close()
}

/** Prints the page's row; false where it exceeds a limit. */
function report({ name, path }: MeasuredPage, results: ReadonlyMap<Look['name'], Measurement>): boolean {
  const all = [...results.values()]
  const bytes = Math.max(...all.map((one) => one.bytes))
  const isHeavy = bytes > (path === '/chat' ? maxChatBytes : maxPageBytes)
  const isSlow = all.some(({ lcpMs }) => lcpMs > maxLcpMs)
  const verdict = [isHeavy && '**too heavy**', isSlow && '**too slow**'].filter(Boolean).join(', ')
  const lcp = looks.map(({ name }) => Math.round(results.get(name)?.lcpMs ?? Infinity))
  console.log(`| ${name} | ${(bytes / 1000).toFixed(1)} | ${lcp.join(' | ')} | ${verdict} |`)
  return !isHeavy && !isSlow
}

async function measureMedian(browser: Browser, used: UsedGateway, page: MeasuredPage, look: Look): Promise<Measurement> {
  const rounds: Measurement[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    used.passMinute()
    rounds.push(await measure(browser, used, page, look))
  }
  const lcps = rounds.map(({ lcpMs }) => lcpMs).toSorted((a, b) => a - b)
  return { lcpMs: lcps[lcps.length >> 1] ?? Infinity, bytes: Math.max(...rounds.map(({ bytes }) => bytes)) }
}

/** In a browser context of its own, so that nothing is cached, compiled code included. */
async function measure(
  browser: Browser,
  { gateway, cookies }: UsedGateway,
  { path, isForMembers, prepare }: MeasuredPage,
  { viewport, locale }: Look,
): Promise<Measurement> {
  const session = await openBrowserSession(browser, gateway.url, { viewport, locale })
  const { context, page } = session
  if (isForMembers) await context.addCookies(cookies)
  await prepare?.(page)
  const meter = await startLoadMeter(session)
  await context.addInitScript(`new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) globalThis.largestPaint = startTime
  }).observe({ type: 'largest-contentful-paint', buffered: true })`)
  await meter.session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  await meter.open(path)
  await page.waitForTimeout(settleMs)
  const lcpMs = Number(await page.evaluate('globalThis.largestPaint ?? Infinity'))
  const { bytes } = meter
  await context.close()
  return { lcpMs, bytes }
}

/** Every page of a service in operation, with the parts of its address that a request gives. */
async function listPages({ gateway }: UsedGateway): Promise<MeasuredPage[]> {
  const token = createUnsubscribeToken(gateway.services.secret, 'acc_1')
  const paths: Readonly<Record<string, string>> = {
    '/docs/search': '/docs/search?q=key',
    '/unsubscribe': `/unsubscribe?token=${token}`,
    '/sign-in/link': `/sign-in/link#${'a'.repeat(43)}`,
    '/connect/:uid': await findConsentPath(gateway),
  }
  const listed = pages.map(({ path, audience }): MeasuredPage => {
    const isForMembers = audience === 'members'
    return { name: `\`${path}\``, path: paths[path] ?? path, isForMembers }
  })
  return [
    ...listed,
    { name: '`/`, signed in', path: '/', isForMembers: true },
    { name: '`/plans`, signed in', path: '/plans', isForMembers: true },
    { name: '`/chat`, an answer with code', path: '/chat', isForMembers: true, prepare: receiveCode },
    { name: '`/no-such-page`', path: '/no-such-page', isForMembers: false },
  ]
}

async function receiveCode(page: Page): Promise<void> {
  const text = 'A sum:\n\n```js\nconst sum = (a, b) => a + b\n```\n'
  await page.goto('/chat')
  await converse(page, { model: 'auto', text: `demo:${JSON.stringify({ text })}` })
}

/** A request begins on the address of the tool server, which leads to the page. */
async function findConsentPath(gateway: UsedGateway['gateway']): Promise<string> {
  const client = new OAuthTestClient(gateway)
  await client.register({ client_name: 'Notebook' })
  return client.authorizePath()
}
