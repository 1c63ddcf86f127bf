/** Debian's Firefox ESR, driven by WebDriver BiDi over its own socket. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { createTemporaryFolder } from '../../temporary-folder.ts'
import { requireProgram } from '../../require-program.ts'
import { DrivenPage } from './driven-page.ts'
import type { BrowserCookie } from './driven-page.ts'

/** A browser of a test connects to no host by itself. */
const preferences = {
  'app.update.disabledForTesting': true,
  'app.normandy.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.newtabpage.enabled': false,
  'browser.startup.page': 0,
  'browser.topsites.contile.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.push.connection.enabled': false,
  'extensions.getAddons.cache.enabled': false,
  'extensions.systemAddon.update.enabled': false,
  'extensions.update.enabled': false,
  'intl.accept_languages': 'en',
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.server': 'data:,',
}

interface BidiMessage {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly result?: Readonly<Record<string, unknown>>
  readonly message?: string
  readonly method?: string
  readonly params?: { readonly level?: string; readonly text?: string }
}

/** Undefined without Firefox: the test is then skipped, and fails on CI. `preload` runs in each page before its own scripts. */
export async function openFirefox(t: Test, site: string, preload: string): Promise<DrivenPage | undefined> {
  const program = requireProgram(t, 'firefox-esr', 'firefox')
  if (program === undefined) return undefined
  const profile = createTemporaryFolder(t)
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  )
  writeFileSync(join(profile, 'user.js'), lines.join('\n'))
  const browser = spawn(
    program,
    ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port=0', 'about:blank'],
    {
      env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const ended = once(browser, 'exit')
  t.teardown(async () => {
    browser.kill()
    await ended
  })
  let address: string | undefined
  for await (const line of createInterface({ input: browser.stderr })) {
    address = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1]
    if (address !== undefined) break
  }
  browser.stderr.resume()
  const socket = new WebSocket(`${address}/session`)
  await once(socket, 'open')
  const waiting = new Map<number, (message: BidiMessage) => void>()
  const problems: string[] = []
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as BidiMessage
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    if (message.method === 'log.entryAdded' && message.params?.level === 'error') problems.push(String(message.params.text))
  })
  let last = 0
  const send = async (method: string, params: Readonly<Record<string, unknown>>) => {
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<BidiMessage>()
    waiting.set(id, resolve)
    socket.send(JSON.stringify({ id, method, params }))
    const { type, result = {}, message } = await promise
    waiting.delete(id)
    if (type === 'error') throw new Error(`${method}: ${message}`)
    return result
  }

  await send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
  await send('session.subscribe', { events: ['log.entryAdded'] })
  await send('script.addPreloadScript', { functionDeclaration: `() => { ${preload} }` })
  const { contexts } = (await send('browsingContext.getTree', {})) as { contexts: readonly { readonly context: string }[] }
  const context = contexts[0]?.context
  return new DrivenPage(
    {
      navigate: async (url) => void (await send('browsingContext.navigate', { context, url, wait: 'complete' })),
      reload: async () => void (await send('browsingContext.reload', { context, wait: 'complete' })),
      back: async () => void (await send('browsingContext.traverseHistory', { context, delta: -1 })),
      async evaluate(expression) {
        const { result, exceptionDetails } = (await send('script.evaluate', {
          expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
          target: { context },
          awaitPromise: true,
        })) as { result?: { readonly value?: string }; exceptionDetails?: { readonly text: string } }
        if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
        return result?.value
      },
      performActions: async (actions) => void (await send('input.performActions', { context, actions })),
      resize: async (width, height) => void (await send('browsingContext.setViewport', { context, viewport: { width, height } })),
      async screenshot() {
        const { data } = await send('browsingContext.captureScreenshot', { context })
        return Buffer.from(String(data), 'base64')
      },
      async listCookies() {
        const { cookies } = await send('storage.getCookies', { partition: { type: 'context', context } })
        return cookies as readonly BrowserCookie[]
      },
      listProblems: () => problems,
    },
    site,
  )
}
