/** The workspaces' web pages, and the references by which a snapshot's elements are named. */
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Locator, Page as PlaywrightPage, Response } from 'playwright-core'
import type { Events } from '../events.ts'
import { WorkbenchError } from '../protocol.ts'
import type { Navigation, BrowserPage } from '../results.ts'
import type { Settings } from '../settings.ts'
import { launchChromium } from './chromium.ts'
import { browserFailure } from './failure.ts'

export interface BrowserPagesOptions {
  readonly settings: Settings
  readonly events: Events
  readonly newId: (prefix: string) => string
}

type Wait = 'load' | 'domcontentloaded' | 'networkidle'

interface OpenPage {
  readonly id: string
  readonly workspaceId: string
  readonly page: PlaywrightPage
  title: string
  snapshots: number
}

/** How long an act on an element that is there may take. */
const actMs = 5_000
const navigateMs = 30_000

/**
 * The pages of all workspaces in one Chromium without windows: each workspace has a context of its own, so the cookies of one
 * are not those of another. Chromium starts with the first page and ends some minutes after the last.
 */
export class BrowserPages {
  readonly #options: BrowserPagesOptions
  readonly #pages = new Map<string, OpenPage>()
  #contexts = new Map<string, Promise<BrowserContext>>()
  #browser: Promise<Browser> | undefined
  /** Of the one that was there before: it is waited for, because it writes down what the next one reads. */
  #ended: Promise<unknown> = Promise.resolve()
  #opening = 0
  #idle: NodeJS.Timeout | undefined
  /** For people: "chromium 156.0.8078.79", while it runs. */
  version: string | null = null

  constructor(options: BrowserPagesOptions) {
    this.#options = options
  }

  list(workspaceId?: string): readonly BrowserPage[] {
    return [...this.#pages.values()]
      .filter((open) => workspaceId === undefined || open.workspaceId === workspaceId)
      .map((open) => describe(open))
  }

  async open(workspaceId: string): Promise<BrowserPage> {
    return describe(await this.#open(workspaceId))
  }

  /** The page named, else the newest of the workspace. */
  async find(pageId: string | undefined, workspaceId: string | null): Promise<BrowserPage> {
    return describe(this.#find(pageId, workspaceId))
  }

  async close(pageId: string): Promise<void> {
    const open = this.#find(pageId, null)
    await this.#keepCookies(open.workspaceId, this.#contexts.get(open.workspaceId))
    await open.page.close()
  }

  /** The workspace is closed: its pages go, and what they kept. */
  async closeOf(workspaceId: string): Promise<void> {
    for (const open of this.#pages.values()) {
      if (open.workspaceId === workspaceId) await this.close(open.id)
    }
    const context = await this.#contexts.get(workspaceId)?.catch(() => undefined)
    this.#contexts.delete(workspaceId)
    await context?.close()
    // Nobody can come back to this workspace, so nobody needs its cookies.
    await rm(this.#cookieFile(workspaceId), { force: true })
  }

  async goto(
    target: { pageId: string | undefined; workspaceId: string },
    url: string,
    options: { wait: Wait | undefined; timeoutMs: number | undefined; allowFile: boolean },
  ): Promise<Navigation> {
    const address = allowed(url, options.allowFile)
    const found = target.pageId === undefined ? this.#newest(target.workspaceId) : this.#find(target.pageId, null)
    const open = found ?? (await this.#open(target.workspaceId))
    return this.#navigate(open, `goto ${address}`, () =>
      open.page.goto(address, { waitUntil: options.wait ?? 'load', timeout: options.timeoutMs ?? navigateMs }),
    )
  }

  async step(
    pageId: string,
    step: 'back' | 'forward' | 'reload',
    options: { wait: Wait | undefined; timeoutMs: number | undefined },
  ): Promise<Navigation> {
    const open = this.#find(pageId, null)
    const wish = { waitUntil: options.wait ?? 'load', timeout: options.timeoutMs ?? navigateMs } as const
    return this.#navigate(open, step, () => {
      if (step === 'reload') return open.page.reload(wish)
      return step === 'back' ? open.page.goBack(wish) : open.page.goForward(wish)
    })
  }

  /** The page as a tree of roles and names, with a mark `[ref=e5]` on what can be acted on. */
  async snapshot(
    pageId: string,
    wish: { selector: string | undefined; depth: number | undefined; maxBytes: number | undefined },
  ): Promise<{ page: BrowserPage; snapshotId: string; text: string; truncated: boolean }> {
    const open = this.#find(pageId, null)
    const options = { mode: 'ai', timeout: actMs, ...(wish.depth === undefined ? {} : { depth: wish.depth }) } as const
    const whole = await this.#attempt('snapshot', async () =>
      wish.selector === undefined
        ? open.page.ariaSnapshot(options)
        : (await this.#one(open, wish.selector)).ariaSnapshot(options),
    )
    open.snapshots += 1
    const { text, truncated } = cut(whole, wish.maxBytes ?? 1_000_000)
    return { page: describe(open), snapshotId: `${open.id}.${open.snapshots}`, text, truncated }
  }

  /** Finds the one element meant and does something with it. */
  async act<T>(
    pageId: string,
    selector: string,
    doing: string,
    work: (element: Locator) => Promise<T>,
  ): Promise<{ page: BrowserPage; value: T }> {
    const open = this.#find(pageId, null)
    const value = await this.#attempt(`${doing} ${selector}`, async () => work(await this.#one(open, selector)))
    await this.#readTitle(open)
    return { page: describe(open), value }
  }

  /** Does something with the page as a whole. */
  async use<T>(
    pageId: string,
    doing: string,
    work: (page: PlaywrightPage) => Promise<T>,
  ): Promise<{ page: BrowserPage; value: T }> {
    const open = this.#find(pageId, null)
    const value = await this.#attempt(doing, () => work(open.page))
    await this.#readTitle(open)
    return { page: describe(open), value }
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#idle)
    const ending = { browser: this.#browser, contexts: this.#contexts }
    // Who asks for a page from now on gets another Chromium, not this one on its way out.
    this.#browser = undefined
    this.#contexts = new Map()
    this.#ended = Promise.all([this.#ended, this.#end(ending.browser, ending.contexts)])
    await this.#ended
  }

  async #end(running: Promise<Browser> | undefined, contexts: ReadonlyMap<string, Promise<BrowserContext>>): Promise<void> {
    for (const [workspaceId, context] of contexts) await this.#keepCookies(workspaceId, context)
    const browser = await running?.catch(() => undefined)
    await browser?.close().catch(() => undefined)
  }

  async #navigate(open: OpenPage, doing: string, work: () => Promise<Response | null>): Promise<Navigation> {
    const response = await this.#attempt(doing, () =>
      work().catch(async (error: unknown) => {
        // The page that tells of it comes a moment later, and would break off whatever is gone to next.
        if (/net::ERR_(?!ABORTED)/.test(String(error)))
          await open.page.waitForURL(/^chrome-error:/, { waitUntil: 'commit', timeout: 1_000 }).catch(() => undefined)
        throw error
      }),
    )
    await this.#readTitle(open)
    const finalUrl = open.page.url()
    this.#options.events.emit('browser.navigated', { pageId: open.id, workspaceId: open.workspaceId, url: finalUrl })
    return { page: describe(open), status: response?.status() ?? null, finalUrl }
  }

  /** Counted before it is acted on: an element that is missing is told at once, and of two neither is touched. */
  async #one(open: OpenPage, selector: string): Promise<Locator> {
    const ref = /^@?(?:ref=)?((?:f\d+)?e\d+)$/.exec(selector)?.[1]
    if (ref !== undefined && (selector.startsWith('@') || selector.startsWith('ref='))) return this.#byRef(open, ref)
    const locator = open.page.locator(`css=${selector}`)
    const count = await locator.count()
    if (count === 0) throw new WorkbenchError('not_found', `no element matches ${selector}`, { hint: 'svc browser snapshot' })
    if (count > 1) throw new WorkbenchError('ambiguous', `${count} elements match ${selector}`, { details: { count } })
    return locator
  }

  async #byRef(open: OpenPage, ref: string): Promise<Locator> {
    const stale = (cause?: unknown): WorkbenchError =>
      new WorkbenchError('ref_stale', `@${ref} is not in the page as it is now`, {
        hint: 'svc browser snapshot gives new refs',
        cause,
      })
    if (open.snapshots === 0) throw stale()
    const locator = open.page.getByRef(ref)
    const count = await locator.count().catch((error: unknown) => {
      throw stale(error)
    })
    if (count !== 1) throw stale()
    return locator
  }

  async #attempt<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw browserFailure(error, doing)
    }
  }

  #find(pageId: string | undefined, workspaceId: string | null): OpenPage {
    const open = pageId === undefined ? this.#newest(workspaceId) : this.#pages.get(pageId)
    if (open) return open
    const message = pageId === undefined ? 'the workspace has no page' : `no page ${pageId}`
    throw new WorkbenchError('not_found', message, { hint: 'svc browser goto <url> · svc browser list' })
  }

  #newest(workspaceId: string | null): OpenPage | undefined {
    return [...this.#pages.values()].findLast((open) => workspaceId === null || open.workspaceId === workspaceId)
  }

  async #open(workspaceId: string): Promise<OpenPage> {
    clearTimeout(this.#idle)
    this.#opening += 1
    try {
      return await this.#openIn(workspaceId, await this.#context(workspaceId))
    } finally {
      this.#opening -= 1
      this.#rest()
    }
  }

  async #openIn(workspaceId: string, context: BrowserContext): Promise<OpenPage> {
    const page = await context.newPage().catch((error: unknown) => {
      throw browserFailure(error, 'open a page')
    })
    const open: OpenPage = { id: this.#options.newId('pg'), workspaceId, page, title: '', snapshots: 0 }
    this.#pages.set(open.id, open)
    // A page that asks must not wait for an answer nobody can give.
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined))
    page.on('close', () => this.#closed(open))
    return open
  }

  #closed(open: OpenPage): void {
    if (!this.#pages.delete(open.id)) return
    this.#options.events.emit('browser.closed', { pageId: open.id, workspaceId: open.workspaceId })
    this.#rest()
  }

  /** Where there is no page and none is coming, Chromium goes after a while. */
  #rest(): void {
    clearTimeout(this.#idle)
    if (this.#pages.size > 0 || this.#opening > 0) return
    this.#idle = setTimeout(() => void this.shutdown(), this.#options.settings.browser.idleMs)
    this.#idle.unref()
  }

  #context(workspaceId: string): Promise<BrowserContext> {
    const contexts = this.#contexts
    const known = contexts.get(workspaceId)
    if (known) return known
    const made = this.#newContext(workspaceId)
    contexts.set(workspaceId, made)
    made.catch(() => contexts.delete(workspaceId))
    return made
  }

  async #newContext(workspaceId: string): Promise<BrowserContext> {
    const browser = await this.#running()
    const storageState = this.#cookieFile(workspaceId)
    const options = { viewport: { width: 1280, height: 800 } }
    // No cookies kept from before is the usual case; a damaged file is as good as none.
    return browser.newContext({ ...options, storageState }).catch(() => browser.newContext(options))
  }

  #running(): Promise<Browser> {
    this.#browser ??= this.#launch().catch((error: unknown) => {
      this.#browser = undefined
      throw error
    })
    return this.#browser
  }

  async #launch(): Promise<Browser> {
    await this.#ended
    const browser = await launchChromium(this.#options.settings)
    const contexts = this.#contexts
    this.version = `chromium ${browser.version()}`
    browser.on('disconnected', () => {
      this.version = null
      for (const open of this.#pages.values()) this.#closed(open)
      clearTimeout(this.#idle)
      // Ended by us, another one may be on its way already.
      if (contexts !== this.#contexts) return
      this.#browser = undefined
      this.#contexts = new Map()
    })
    return browser
  }

  /** A page in the middle of a navigation, or too busy to answer, has no title to ask for: the one known stays. */
  async #readTitle(open: OpenPage): Promise<void> {
    open.title = (await this.#inTime(open.page.title())) ?? open.title
  }

  /** A page whose script never ends answers nothing; the workbench and its other pages do not wait for it. */
  #inTime<T>(work: Promise<T>): Promise<T | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), this.#options.settings.browser.answerMs)
    return Promise.race([work.catch(() => undefined), late]).finally(() => clearTimeout(timer))
  }

  #cookieFile(workspaceId: string): string {
    return join(this.#options.settings.stateDir, 'browser', `${workspaceId}.json`)
  }

  /** Signed-in stays signed-in when Chromium goes for want of pages. Only the user may read it. */
  async #keepCookies(workspaceId: string, made: Promise<BrowserContext> | undefined): Promise<void> {
    const context = await made?.catch(() => undefined)
    if (!context) return
    const path = this.#cookieFile(workspaceId)
    const fresh = `${path}.new`
    await mkdir(join(this.#options.settings.stateDir, 'browser'), { recursive: true, mode: 0o700 })
    const state = await this.#inTime(context.storageState())
    if (!state) return
    await rm(fresh, { force: true })
    await writeFile(fresh, JSON.stringify(state), { mode: 0o600 })
    await chmod(fresh, 0o600)
    await rename(fresh, path)
  }
}

function describe(open: OpenPage): BrowserPage {
  return { id: open.id, workspaceId: open.workspaceId, url: open.page.url(), title: open.title }
}

/** http, https and about:blank; file only when asked for, because a page could then be made of any file of the user's. */
function allowed(url: string, allowFile: boolean): string {
  const text = /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]*:\d+(?:\/|$)/.test(url) ? url : `http://${url}`
  const address = URL.parse(text)
  if (!address) throw new WorkbenchError('invalid_params', `not an address: ${url}`)
  if (address.protocol === 'http:' || address.protocol === 'https:' || address.href === 'about:blank') return address.href
  if (address.protocol === 'file:' && allowFile) return address.href
  const hint = address.protocol === 'file:' ? '--allow-file opens files' : 'http, https and about:blank are opened'
  throw new WorkbenchError('invalid_params', `${address.protocol} addresses are not opened`, { hint })
}

/** At most `limit` bytes, cut at a line's end. */
function cut(text: string, limit: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return { text, truncated: false }
  const end = bytes.lastIndexOf(10, limit)
  return { text: bytes.subarray(0, end === -1 ? 0 : end + 1).toString('utf8'), truncated: true }
}
