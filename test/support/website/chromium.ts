/**
 * A real browser for tests of the website: the system's Chromium, which records everything a page must not do. Its headless shell is
 * used if installed: the same engine at half the cost, because the full browser also renders its toolbar as a page.
 */
import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import root from 'tap'
import type { Test } from 'tap'
import { requireProgram } from '../require-program.ts'

const launchFlags = [
  '--no-sandbox', // tests may run as root, where Chromium has none
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--renderer-process-limit=1', // a process for each page and one in reserve cost more than the pages
]

export const chromiumPrograms = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'] as const

let sharedBrowser: Promise<Browser> | undefined

/**
 * One browser for all tests of a process, separated by contexts, because its start costs as much as many contexts. Undefined without
 * Chromium: the test is then skipped with the reason, and fails on CI.
 */
export async function openChromium(t: Test): Promise<Browser | undefined> {
  const executablePath = requireProgram(t, ...chromiumPrograms)
  if (executablePath === undefined) return undefined
  sharedBrowser ??= launchChromium(executablePath).then((browser) => {
    root.teardown(() => browser.close())
    return browser
  })
  return sharedBrowser
}

export function launchChromium(executablePath: string, flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...launchFlags, ...flags] })
}

export interface BrowserSession {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors in the browser so far: of scripts, of the content security policy, and requests to other sites. */
  readonly problems: readonly string[]
}

/** A user with a separate browser context and cookies. */
export async function openBrowserSession(
  browser: Browser,
  site: string,
  options: BrowserContextOptions = {},
): Promise<BrowserSession> {
  const context = await browser.newContext({ baseURL: site, locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('console', (message) => {
    // The browser also reports a refused API call as an error; the page displays those answers.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) problems.push(message.text())
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) problems.push(message.text())
  })
  context.on('request', (request) => {
    if (!request.url().startsWith(`${site}/`) && !request.url().startsWith('data:'))
      problems.push(`left the site: ${request.url()}`)
  })
  return { context, page, problems }
}

/** All accessibility violations that axe finds, minor ones included, one line each. */
export async function findAccessibilityViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  // Only the violations leave the page, not all checked elements.
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as AxeResults['violations']
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join(' | ')}`,
  )
}
