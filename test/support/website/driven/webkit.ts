/** WebKitGTK's small browser, the engine of Safari, driven by WebDriver over HTTP on a display without a screen. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findFreePort } from '../../free-port.ts'
import { createTemporaryFolder } from '../../temporary-folder.ts'
import { requireProgram, skipWithoutProgram } from '../../require-program.ts'
import { waitUntil } from '../../wait-until.ts'
import { DrivenPage } from './driven-page.ts'

/** Undefined without WebKit: the test is then skipped, and fails on CI. */
export async function openWebKit(t: Test, site: string): Promise<DrivenPage | undefined> {
  const program = requireProgram(t, 'WebKitWebDriver')
  if (program === undefined || requireProgram(t, 'Xvfb') === undefined) return undefined
  const [binary] = globSync('/usr/lib/*/webkit2gtk-4.*/MiniBrowser')
  if (binary === undefined) {
    skipWithoutProgram(t, 'MiniBrowser of WebKitGTK')
    return undefined
  }
  const home = createTemporaryFolder(t)
  // The browser's own buttons would keep the window from being as narrow as a phone.
  mkdirSync(join(home, 'gtk-3.0'))
  writeFileSync(
    join(home, 'gtk-3.0/gtk.css'),
    '* { padding: 0; margin: 0; min-width: 0; min-height: 0; font-size: 1px; border: 0 }',
  )
  const port = await findFreePort()
  const display = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  endAfter(t, display)
  const [chosen] = (await once(display.stdout, 'data')) as [Buffer]
  const driver = spawn(program, [`--port=${port}`, '--host=127.0.0.1'], {
    env: {
      ...process.env,
      DISPLAY: `:${chosen.toString().trim()}`,
      HOME: home,
      XDG_CONFIG_HOME: home,
      XDG_RUNTIME_DIR: home,
      GDK_BACKEND: 'x11',
      LIBGL_ALWAYS_SOFTWARE: '1',
      NO_AT_BRIDGE: '1',
      GSETTINGS_BACKEND: 'memory',
      LANG: 'C.UTF-8',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endAfter(t, driver)
  const problems: string[] = []
  const listen = (chunk: Buffer) =>
    problems.push(
      ...chunk
        .toString()
        .split('\n')
        .filter((line) => /^CONSOLE (?:JS|SECURITY) ERROR/.test(line)),
    )
  driver.stdout.on('data', listen)
  driver.stderr.on('data', listen)

  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { value } = (await response.json()) as { value: T & { readonly message?: string } }
    if (!response.ok) throw new Error(`${path}: ${value.message}`)
    return value
  }
  await waitUntil(
    () =>
      call('GET', '/status').then(
        () => true,
        () => false,
      ),
    'WebKitWebDriver to listen',
  )
  const options = { binary, args: ['--automation', '--enable-write-console-messages-to-stdout=true'] }
  const { sessionId } = await call<{ readonly sessionId: string }>('POST', '/session', {
    capabilities: { alwaysMatch: { acceptInsecureCerts: true, 'webkitgtk:browserOptions': options } },
  })
  const session = `/session/${sessionId}`
  t.teardown(() => call('DELETE', session).catch(() => undefined))
  const resize = async (width: number, height: number): Promise<void> => {
    await call('POST', `${session}/window/rect`, { width, height })
    const inner = () => call<number>('POST', `${session}/execute/sync`, { script: 'return innerWidth', args: [] })
    await waitUntil(async () => (await inner()) === width, `a page ${width} pixels wide`, 20)
  }
  return new DrivenPage(
    {
      navigate: async (url) => void (await call('POST', `${session}/url`, { url })),
      reload: async () => void (await call('POST', `${session}/refresh`, {})),
      back: async () => void (await call('POST', `${session}/back`, {})),
      evaluate: (expression) =>
        call('POST', `${session}/execute/async`, {
          script: `const done = arguments[arguments.length - 1]; Promise.resolve(${expression}).then((value) => done(JSON.stringify(value)))`,
          args: [],
        }),
      performActions: async (actions) => void (await call('POST', `${session}/actions`, { actions })),
      resize,
      screenshot: async () => Buffer.from(await call<string>('GET', `${session}/screenshot`), 'base64'),
      listCookies: () => call('GET', `${session}/cookie`),
      listProblems: () => problems,
    },
    site,
  )
}

function endAfter(t: Test, child: ChildProcess): void {
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill()
    await ended
  })
}
