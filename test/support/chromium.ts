/**
 * A real browser for tests of the website: the system's Chromium, watched for everything a page must not do. Its shell without a window is
 * taken where there is one: the same engine at half the price, because the whole browser draws a toolbar, a page of its own, around each.
 */
import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import root from 'tap'
import type { Test } from 'tap'
import { requireProgram } from './real-parts.ts'

const flags = [
  '--no-sandbox', // tests may run as root, where Chromium has none
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--renderer-process-limit=1', // a process for each page and one in reserve cost more than the pages
]

let opened: Promise<Browser> | undefined

/**
 * One for all tests of a process, which part it by contexts: its start costs as much as many of them. Undefined where there is no
 * Chromium: then the test is skipped with the reason, and fails on CI.
 */
export async function openChromium(t: Test): Promise<Browser | undefined> {
  const executablePath = requireProgram(t, 'chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')
  if (executablePath === undefined) return undefined
  opened ??= launch(executablePath).then((browser) => {
    root.teardown(() => browser.close())
    return browser
  })
  return opened
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: flags })
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What went wrong in the browser so far: errors of scripts, refusals of the content policy, requests to other sites. */
  readonly problems: readonly string[]
}

/** Somebody with a browser of their own: no cookies but theirs. */
export async function visitor(browser: Browser, site: string, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: site, locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('console', (message) => {
    // A refused call is told by the browser as an error too; those are answers, and the page shows them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) problems.push(message.text())
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) problems.push(message.text())
  })
  context.on('request', (request) => {
    if (!request.url().startsWith(`${site}/`) && !request.url().startsWith('data:'))
      problems.push(`left the site: ${request.url()}`)
  })
  return { context, page, problems }
}

/** What axe finds that keeps somebody from using the page: its serious and critical rules, one line each. */
export async function barriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  // Of all that it has looked at only what is wrong leaves the page.
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as AxeResults['violations']
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join(' | ')}`)
}
