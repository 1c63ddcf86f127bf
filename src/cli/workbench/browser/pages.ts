/** The workspaces' web pages, and the references that name a snapshot's elements. */
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Locator, Page as PlaywrightPage, Response } from 'playwright-core'
import type { EventLog } from '../event-log.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Navigation, BrowserPage } from '../protocol/results.ts'
import type { Settings } from '../settings.ts'
import { launchChromium } from './chromium.ts'
import { toBrowserError } from './browser-error.ts'

interface BrowserPagesOptions {
  readonly settings: Settings
  readonly events: EventLog
  readonly newId: (prefix: string) => string
}

type LoadState = 'load' | 'domcontentloaded' | 'networkidle'

interface OpenPage {
  readonly id: string
  readonly workspaceId: string
  readonly page: PlaywrightPage
  title: string
  snapshotCount: number
}

/** Timeout of an action on an existing element. */
const actionTimeoutMs = 5_000
const navigationTimeoutMs = 30_000

/**
 * The pages of all workspaces in one Chromium without windows. Each workspace has its own context, so workspaces do not share
 * cookies. Chromium starts with the first page and ends some minutes after the last one.
 */
export class BrowserPages {
  readonly #options: BrowserPagesOptions
  readonly #pages = new Map<string, OpenPage>()
  #contexts = new Map<string, Promise<BrowserContext>>()
  #browser: Promise<Browser> | undefined
  /** The end of the previous Chromium. The next one waits for it, because it writes the state that the next one reads. */
  #shutdownDone: Promise<unknown> = Promise.resolve()
  #openingCount = 0
  #idleTimer: NodeJS.Timeout | undefined
  /** Name and version for display, "chromium 156.0.8078.79", while it runs. */
  version: string | null = null

  constructor(options: BrowserPagesOptions) {
    this.#options = options
  }

  list(workspaceId?: string): readonly BrowserPage[] {
    return [...this.#pages.values()]
      .filter((open) => workspaceId === undefined || open.workspaceId === workspaceId)
      .map((open) => toBrowserPage(open))
  }

  async open(workspaceId: string): Promise<BrowserPage> {
    return toBrowserPage(await this.#open(workspaceId))
  }

  /** The named page, else the newest of the workspace. */
  async find(pageId: string | undefined, workspaceId: string | null): Promise<BrowserPage> {
    return toBrowserPage(this.#find(pageId, workspaceId))
  }

  async close(pageId: string): Promise<void> {
    const open = this.#find(pageId, null)
    await this.#saveCookies(open.workspaceId, this.#contexts.get(open.workspaceId))
    await open.page.close()
  }

  /** Closes the pages of a closed workspace and deletes their stored state. */
  async closeWorkspacePages(workspaceId: string): Promise<void> {
    for (const open of this.#pages.values()) {
      if (open.workspaceId === workspaceId) await this.close(open.id)
    }
    const context = await this.#contexts.get(workspaceId)?.catch(() => undefined)
    this.#contexts.delete(workspaceId)
    await context?.close()
    // A closed workspace cannot be reopened, so its cookies are not needed.
    await rm(this.#cookiePath(workspaceId), { force: true })
  }

  async goto(
    target: { pageId: string | undefined; workspaceId: string },
    url: string,
    options: { wait: LoadState | undefined; timeoutMs: number | undefined; allowFile: boolean },
  ): Promise<Navigation> {
    const address = parseAllowedUrl(url, options.allowFile)
    const openPage = target.pageId === undefined ? this.#findNewest(target.workspaceId) : this.#find(target.pageId, null)
    const open = openPage ?? (await this.#open(target.workspaceId))
    return this.#navigate(open, `goto ${address}`, () =>
      open.page.goto(address, { waitUntil: options.wait ?? 'load', timeout: options.timeoutMs ?? navigationTimeoutMs }),
    )
  }

  async navigateHistory(
    pageId: string,
    step: 'back' | 'forward' | 'reload',
    options: { wait: LoadState | undefined; timeoutMs: number | undefined },
  ): Promise<Navigation> {
    const open = this.#find(pageId, null)
    const wish = { waitUntil: options.wait ?? 'load', timeout: options.timeoutMs ?? navigationTimeoutMs } as const
    return this.#navigate(open, step, () => {
      if (step === 'reload') return open.page.reload(wish)
      return step === 'back' ? open.page.goBack(wish) : open.page.goForward(wish)
    })
  }

  /** The page as a tree of roles and names, with a mark `[ref=e5]` on each element that accepts actions. */
  async snapshot(
    pageId: string,
    wish: { selector: string | undefined; depth: number | undefined; maxBytes: number | undefined },
  ): Promise<{ page: BrowserPage; snapshotId: string; text: string; truncated: boolean }> {
    const open = this.#find(pageId, null)
    const options = { mode: 'ai', timeout: actionTimeoutMs, ...(wish.depth === undefined ? {} : { depth: wish.depth }) } as const
    const wholeSnapshot = await this.#withBrowserErrors('snapshot', async () =>
      wish.selector === undefined
        ? open.page.ariaSnapshot(options)
        : (await this.#locate(open, wish.selector)).ariaSnapshot(options),
    )
    open.snapshotCount += 1
    const { text, truncated } = truncateToBytes(wholeSnapshot, wish.maxBytes ?? 1_000_000)
    return { page: toBrowserPage(open), snapshotId: `${open.id}.${open.snapshotCount}`, text, truncated }
  }

  /** Finds the one matching element and runs an action on it. */
  async act<T>(
    pageId: string,
    selector: string,
    doing: string,
    work: (element: Locator) => Promise<T>,
  ): Promise<{ page: BrowserPage; value: T }> {
    const open = this.#find(pageId, null)
    const value = await this.#withBrowserErrors(`${doing} ${selector}`, async () => work(await this.#locate(open, selector)))
    await this.#readTitle(open)
    return { page: toBrowserPage(open), value }
  }

  /** Runs an action on the whole page. */
  async use<T>(
    pageId: string,
    doing: string,
    work: (page: PlaywrightPage) => Promise<T>,
  ): Promise<{ page: BrowserPage; value: T }> {
    const open = this.#find(pageId, null)
    const value = await this.#withBrowserErrors(doing, () => work(open.page))
    await this.#readTitle(open)
    return { page: toBrowserPage(open), value }
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const ending = { browser: this.#browser, contexts: this.#contexts }
    // New pages from here on get another Chromium, not the one that is closing.
    this.#browser = undefined
    this.#contexts = new Map()
    this.#shutdownDone = Promise.all([this.#shutdownDone, this.#end(ending.browser, ending.contexts)])
    await this.#shutdownDone
  }

  async #end(running: Promise<Browser> | undefined, contexts: ReadonlyMap<string, Promise<BrowserContext>>): Promise<void> {
    for (const [workspaceId, context] of contexts) await this.#saveCookies(workspaceId, context)
    const browser = await running?.catch(() => undefined)
    await browser?.close().catch(() => undefined)
  }

  async #navigate(open: OpenPage, doing: string, work: () => Promise<Response | null>): Promise<Navigation> {
    const response = await this.#withBrowserErrors(doing, () =>
      work().catch(async (error: unknown) => {
        // Chromium's own error page loads a moment later and would abort the next navigation.
        if (/net::ERR_(?!ABORTED)/.test(String(error)))
          await open.page.waitForURL(/^chrome-error:/, { waitUntil: 'commit', timeout: 1_000 }).catch(() => undefined)
        throw error
      }),
    )
    await this.#readTitle(open)
    const finalUrl = open.page.url()
    this.#options.events.emit('browser.navigated', { pageId: open.id, workspaceId: open.workspaceId, url: finalUrl })
    return { page: toBrowserPage(open), status: response?.status() ?? null, finalUrl }
  }

  /** Counts the matches first: a missing element fails at once, and with two matches neither is touched. */
  async #locate(open: OpenPage, selector: string): Promise<Locator> {
    const ref = /^@?(?:ref=)?((?:f\d+)?e\d+)$/.exec(selector)?.[1]
    if (ref !== undefined && (selector.startsWith('@') || selector.startsWith('ref='))) return this.#locateByRef(open, ref)
    const locator = open.page.locator(`css=${selector}`)
    const count = await locator.count()
    if (count === 0) throw new WorkbenchError('not_found', `no element matches ${selector}`, { hint: 'svc browser snapshot' })
    if (count > 1) throw new WorkbenchError('ambiguous', `${count} elements match ${selector}`, { details: { count } })
    return locator
  }

  async #locateByRef(open: OpenPage, ref: string): Promise<Locator> {
    const createStaleError = (cause?: unknown): WorkbenchError =>
      new WorkbenchError('ref_stale', `@${ref} is not in the page as it is now`, {
        hint: 'svc browser snapshot gives new refs',
        cause,
      })
    if (open.snapshotCount === 0) throw createStaleError()
    const locator = open.page.getByRef(ref)
    const count = await locator.count().catch((error: unknown) => {
      throw createStaleError(error)
    })
    if (count !== 1) throw createStaleError()
    return locator
  }

  async #withBrowserErrors<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw toBrowserError(error, doing)
    }
  }

  #find(pageId: string | undefined, workspaceId: string | null): OpenPage {
    const open = pageId === undefined ? this.#findNewest(workspaceId) : this.#pages.get(pageId)
    if (open) return open
    const message = pageId === undefined ? 'the workspace has no page' : `no page ${pageId}`
    throw new WorkbenchError('not_found', message, { hint: 'svc browser goto <url> · svc browser list' })
  }

  #findNewest(workspaceId: string | null): OpenPage | undefined {
    return [...this.#pages.values()].findLast((open) => workspaceId === null || open.workspaceId === workspaceId)
  }

  async #open(workspaceId: string): Promise<OpenPage> {
    clearTimeout(this.#idleTimer)
    this.#openingCount += 1
    try {
      return await this.#openIn(workspaceId, await this.#ensureContext(workspaceId))
    } finally {
      this.#openingCount -= 1
      this.#scheduleIdleShutdown()
    }
  }

  async #openIn(workspaceId: string, context: BrowserContext): Promise<OpenPage> {
    const page = await context.newPage().catch((error: unknown) => {
      throw toBrowserError(error, 'open a page')
    })
    const open: OpenPage = { id: this.#options.newId('pg'), workspaceId, page, title: '', snapshotCount: 0 }
    this.#pages.set(open.id, open)
    // A dialog must not block the page, because there is no user to answer it.
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined))
    page.on('close', () => this.#onPageClosed(open))
    return open
  }

  #onPageClosed(open: OpenPage): void {
    if (!this.#pages.delete(open.id)) return
    this.#options.events.emit('browser.closed', { pageId: open.id, workspaceId: open.workspaceId })
    this.#scheduleIdleShutdown()
  }

  /** Ends Chromium after a delay when there is no page and none is opening. */
  #scheduleIdleShutdown(): void {
    clearTimeout(this.#idleTimer)
    if (this.#pages.size > 0 || this.#openingCount > 0) return
    this.#idleTimer = setTimeout(() => void this.shutdown(), this.#options.settings.browser.idleMs)
    this.#idleTimer.unref()
  }

  #ensureContext(workspaceId: string): Promise<BrowserContext> {
    const contexts = this.#contexts
    const existingContext = contexts.get(workspaceId)
    if (existingContext) return existingContext
    const newContext = this.#newContext(workspaceId)
    contexts.set(workspaceId, newContext)
    newContext.catch(() => contexts.delete(workspaceId))
    return newContext
  }

  async #newContext(workspaceId: string): Promise<BrowserContext> {
    const browser = await this.#ensureBrowser()
    const storageState = this.#cookiePath(workspaceId)
    const options = { viewport: { width: 1280, height: 800 } }
    // Usually no cookies were stored; a damaged file counts as none.
    return browser.newContext({ ...options, storageState }).catch(() => browser.newContext(options))
  }

  #ensureBrowser(): Promise<Browser> {
    this.#browser ??= this.#launch().catch((error: unknown) => {
      this.#browser = undefined
      throw error
    })
    return this.#browser
  }

  async #launch(): Promise<Browser> {
    await this.#shutdownDone
    const browser = await launchChromium(this.#options.settings)
    const contexts = this.#contexts
    this.version = `chromium ${browser.version()}`
    browser.on('disconnected', () => {
      this.version = null
      for (const open of this.#pages.values()) this.#onPageClosed(open)
      clearTimeout(this.#idleTimer)
      // After an intended end another Chromium may already be starting.
      if (contexts !== this.#contexts) return
      this.#browser = undefined
      this.#contexts = new Map()
    })
    return browser
  }

  /** A page that navigates or is too busy to answer keeps its last title. */
  async #readTitle(open: OpenPage): Promise<void> {
    open.title = (await this.#withTimeout(open.page.title())) ?? open.title
  }

  /** A page with an endless script never answers; the workbench and its other pages do not wait for it. */
  #withTimeout<T>(work: Promise<T>): Promise<T | undefined> {
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), this.#options.settings.browser.answerMs)
    return Promise.race([work.catch(() => undefined), timeout]).finally(() => clearTimeout(timer))
  }

  #cookiePath(workspaceId: string): string {
    return join(this.#options.settings.stateDir, 'browser', `${workspaceId}.json`)
  }

  /** Stores the cookies, so that sign-ins survive the end of an idle Chromium. Only the user can read the file. */
  async #saveCookies(workspaceId: string, made: Promise<BrowserContext> | undefined): Promise<void> {
    const context = await made?.catch(() => undefined)
    if (!context) return
    const path = this.#cookiePath(workspaceId)
    const partialFile = `${path}.new`
    await mkdir(join(this.#options.settings.stateDir, 'browser'), { recursive: true, mode: 0o700 })
    const state = await this.#withTimeout(context.storageState())
    if (!state) return
    await rm(partialFile, { force: true })
    await writeFile(partialFile, JSON.stringify(state), { mode: 0o600 })
    await chmod(partialFile, 0o600)
    await rename(partialFile, path)
  }
}

function toBrowserPage(open: OpenPage): BrowserPage {
  return { id: open.id, workspaceId: open.workspaceId, url: open.page.url(), title: open.title }
}

/** Accepts http, https and about:blank; file only with its flag, because a page could then be any file of the user. */
function parseAllowedUrl(url: string, allowFile: boolean): string {
  const text = /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]*:\d+(?:\/|$)/.test(url) ? url : `http://${url}`
  const address = URL.parse(text)
  if (!address) throw new WorkbenchError('invalid_params', `not an address: ${url}`)
  if (address.protocol === 'http:' || address.protocol === 'https:' || address.href === 'about:blank') return address.href
  if (address.protocol === 'file:' && allowFile) return address.href
  const hint = address.protocol === 'file:' ? '--allow-file opens files' : 'http, https and about:blank are opened'
  throw new WorkbenchError('invalid_params', `${address.protocol} addresses are not opened`, { hint })
}

/** Cuts a text to at most `limit` bytes, at the end of a line. */
function truncateToBytes(text: string, limit: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return { text, truncated: false }
  const end = bytes.lastIndexOf(10, limit)
  return { text: bytes.subarray(0, end === -1 ? 0 : end + 1).toString('utf8'), truncated: true }
}
