/** The methods `browser.…`. The pages have no window, so `browser.focus` brings their workspace to the front. */
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { Locator } from 'playwright-core'
import type { Family, Handlers } from './handler.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Focus, BrowserPage } from '../protocol/results.ts'
import type { Workbench } from '../workbench.ts'
import { resolveWorkspace } from '../workbench.ts'

interface PageCall {
  readonly caller: Focus | null
  readonly params: { readonly pageId?: string | undefined }
}

const actOptions = { timeout: 5_000 }

export function createBrowserMethods(bench: Workbench): Handlers<Family<'browser'>> {
  /** The named page, else the newest of the caller's workspace, else of the one in front. */
  const resolvePage = async ({ caller, params }: PageCall): Promise<BrowserPage> => {
    const pages = await bench.pages()
    if (params.pageId !== undefined) return pages.find(params.pageId, null)
    return pages.find(undefined, (await resolveWorkspace(bench, { caller }, undefined)).id)
  }

  return {
    'browser.open': async ({ params, caller }) => {
      const workspace = await resolveWorkspace(bench, { caller }, params.workspaceId)
      return { page: await (await bench.pages()).open(workspace.id) }
    },

    'browser.close': async (call) => {
      await (await bench.pages()).close((await resolvePage(call)).id)
      return { ok: true }
    },

    'browser.list': async ({ params }) => ({ pages: bench.openPages()?.list(params.workspaceId) ?? [] }),

    'browser.goto': async ({ params, caller }) => {
      const { url, pageId, wait, timeoutMs, allowFile = false } = params
      const workspace = await resolveWorkspace(bench, { caller }, params.workspaceId)
      return (await bench.pages()).goto({ pageId, workspaceId: workspace.id }, url, { wait, timeoutMs, allowFile })
    },

    'browser.back': async (call) => {
      const { wait, timeoutMs } = call.params
      return (await bench.pages()).navigateHistory((await resolvePage(call)).id, 'back', { wait, timeoutMs })
    },

    'browser.forward': async (call) => {
      const { wait, timeoutMs } = call.params
      return (await bench.pages()).navigateHistory((await resolvePage(call)).id, 'forward', { wait, timeoutMs })
    },

    'browser.reload': async (call) => {
      const { wait, timeoutMs } = call.params
      return (await bench.pages()).navigateHistory((await resolvePage(call)).id, 'reload', { wait, timeoutMs })
    },

    'browser.snapshot': async (call) => {
      const { selector, depth, maxBytes } = call.params
      return (await bench.pages()).snapshot((await resolvePage(call)).id, { selector, depth, maxBytes })
    },

    'browser.fill': async (call) => {
      const { selector, text } = call.params
      const { page } = await (
        await bench.pages()
      ).act((await resolvePage(call)).id, selector, 'fill', (element) => element.fill(text, actOptions))
      return { page }
    },

    'browser.click': async (call) => {
      const { page } = await (
        await bench.pages()
      ).act((await resolvePage(call)).id, call.params.selector, 'click', (element) => element.click(actOptions))
      return { page }
    },

    'browser.type': async (call) => {
      const { selector, text } = call.params
      const pages = await bench.pages()
      const { id } = await resolvePage(call)
      if (selector === undefined) return { page: (await pages.use(id, 'type', (page) => page.keyboard.type(text))).page }
      return { page: (await pages.act(id, selector, 'type', (element) => element.pressSequentially(text, actOptions))).page }
    },

    'browser.press': async (call) => {
      const { selector, key } = call.params
      const pages = await bench.pages()
      const { id } = await resolvePage(call)
      if (selector === undefined) return { page: (await pages.use(id, 'press', (page) => page.keyboard.press(key))).page }
      return { page: (await pages.act(id, selector, 'press', (element) => element.press(key, actOptions))).page }
    },

    'browser.select': async (call) => {
      const { selector, values } = call.params
      const pages = await bench.pages()
      const { page, value } = await pages.act((await resolvePage(call)).id, selector, 'select', (element) =>
        element.selectOption([...values], actOptions),
      )
      return { page, selected: value }
    },

    'browser.check': async (call) => {
      const { selector, checked = true } = call.params
      const pages = await bench.pages()
      const { page, value } = await pages.act((await resolvePage(call)).id, selector, 'check', async (element) => {
        await element.setChecked(checked, actOptions)
        return element.isChecked(actOptions)
      })
      return { page, checked: value }
    },

    'browser.wait': async (call) => {
      const { selector, text, url, load, gone = false, timeoutMs = 30_000 } = call.params
      if (selector === undefined && text === undefined && url === undefined && load === undefined) {
        throw new WorkbenchError('invalid_params', 'browser.wait: name a selector, a text, an address or a load state')
      }
      const pages = await bench.pages()
      const state = gone ? 'hidden' : 'visible'
      const { page } = await pages.use((await resolvePage(call)).id, 'wait', async (page) => {
        if (load !== undefined) await page.waitForLoadState(load, { timeout: timeoutMs })
        if (url !== undefined) await page.waitForURL(url, { timeout: timeoutMs })
        if (text !== undefined) await page.getByText(text).first().waitFor({ state, timeout: timeoutMs })
        if (selector !== undefined) await page.locator(`css=${selector}`).first().waitFor({ state, timeout: timeoutMs })
      })
      return { page }
    },

    'browser.get': async (call) => {
      const { what, selector, name } = call.params
      const pages = await bench.pages()
      const { id } = await resolvePage(call)
      if (what === 'count') {
        if (selector === undefined) throw new WorkbenchError('invalid_params', 'browser.get: count needs a selector')
        const { page, value } = await pages.use(id, 'count', (page) => page.locator(`css=${selector}`).count())
        return { page, value: String(value) }
      }
      if (what === 'url' || what === 'title') {
        return pages.use(id, what, async (page) => (what === 'url' ? page.url() : page.title()))
      }
      return pages.act(id, selector ?? 'html', `get ${what}`, (element) => readElement(element, what, name))
    },

    'browser.eval': async (call) => {
      const pages = await bench.pages()
      return pages.use((await resolvePage(call)).id, 'eval', async (page) => toJson(await page.evaluate(call.params.expression)))
    },

    'browser.screenshot': async (call) => {
      const pages = await bench.pages()
      const folder = join(bench.settings.stateDir, 'screenshots')
      const path = call.params.path ?? join(folder, `${bench.services.newId('shot')}.png`)
      if (!isAbsolute(path)) throw new WorkbenchError('invalid_params', 'browser.screenshot: the path must be absolute')
      // The mode is set below: on a device that would lock out all other users.
      if ((await stat(path).catch(() => undefined))?.isFile() === false)
        throw new WorkbenchError('invalid_params', `browser.screenshot: the path exists and is not a file: ${path}`)
      const fullPage = call.params.fullPage ?? false
      const { page, value } = await pages.use((await resolvePage(call)).id, 'screenshot', (page) =>
        page.screenshot({ fullPage, timeout: 15_000 }),
      )
      if (call.params.path === undefined) await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(path, value, { mode: 0o600 }).catch((cause: unknown) => {
        throw new WorkbenchError('invalid_params', `the file cannot be written: ${path}`, { cause })
      })
      await chmod(path, 0o600)
      return { page, path, bytes: value.length }
    },

    'browser.focus': async (call, intent) => {
      const page = await resolvePage(call)
      await bench.engine.focusWorkspace(intent, page.workspaceId)
      return { page, focused: await bench.engine.getFocus() }
    },
  }
}

/** Converts a page's value to JSON for the answer. */
function toJson(value: unknown): unknown {
  try {
    return JSON.stringify(value) === undefined ? null : value
  } catch (cause) {
    throw new WorkbenchError('invalid_params', 'browser.eval: the value has no form in JSON', { cause })
  }
}

function readElement(
  element: Locator,
  what: 'text' | 'html' | 'value' | 'attribute',
  name: string | undefined,
): Promise<string | null> {
  if (what === 'text') return element.innerText(actOptions)
  if (what === 'html') return element.innerHTML(actOptions)
  if (what === 'value') return element.inputValue(actOptions)
  if (name === undefined) throw new WorkbenchError('invalid_params', 'browser.get: an attribute needs a name')
  return element.getAttribute(name, actOptions)
}
