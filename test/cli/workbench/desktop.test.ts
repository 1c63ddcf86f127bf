/** On a desktop: what the workbench does in its browser and with notifications opens no window and activates none. */
import { execFile, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import type { Test } from 'tap'
import t from 'tap'
import { requireProgram } from '../../support/real-parts.ts'
import { folder, startBench, testSettings, until } from './support/bench.ts'
import { startSite } from './support/site.ts'
import { endWith } from './support/user.ts'

const run = promisify(execFile)

t.test('no window appears and none is activated', async (t) => {
  const executablePath = requireProgram(t, 'chromium', 'google-chrome')
  if (executablePath === undefined || !requireProgram(t, 'Xvfb') || !requireProgram(t, 'xdotool')) return
  const dir = folder(t)
  const display = await startDisplay(t)
  const env = { ...testSettings(dir).env, DISPLAY: display }
  const xdotool = async (...words: readonly string[]): Promise<string> => (await run('xdotool', words, { env })).stdout.trim()
  const windows = async (): Promise<readonly string[]> =>
    (await xdotool('search', '--onlyvisible', '--name', '.*').catch(() => ''))
      .split('\n')
      .filter((id) => id !== '')
      .sort()
  const openWindow = async (title: string): Promise<void> => {
    await (await user.newPage()).goto(`data:text/html,<title>${title}</title>`)
  }

  // The user's own window, with the keyboard in it.
  mkdirSync(join(dir, 'the-users-own'))
  const user = await chromium.launch({
    executablePath,
    headless: false,
    chromiumSandbox: process.getuid?.() !== 0,
    env: { ...env, HOME: join(dir, 'the-users-own') },
  })
  t.teardown(() => user.close())
  await openWindow('the-users-own')
  const [own = ''] = await until('the user has a window', async () => {
    const ids = await windows()
    return ids.length > 0 && ids
  })
  await xdotool('windowfocus', '--sync', own)
  const seen = async (): Promise<unknown> => ({ windows: await windows(), focus: await xdotool('getwindowfocus') })
  const before = await seen()

  // The browser that people have, which could open a window.
  const browser = { ...testSettings(dir).browser, executable: executablePath }
  const { client } = await startBench(t, { env, browser }, dir)
  const site = await startSite(t)
  await client.call('browser.goto', { url: `${site}/form` })
  const acts: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['goto', () => client.call('browser.goto', { url: `${site}/form` })],
    ['open', () => client.call('browser.open', {})],
    ['goto in it', () => client.call('browser.goto', { url: `${site}/form` })],
    ['fill', () => client.call('browser.fill', { selector: '#name', text: 'x' })],
    ['click', () => client.call('browser.click', { selector: '#go' })],
    [
      'window.open and focus by the page',
      () => client.call('browser.eval', { expression: 'window.open("about:blank"); window.focus(); alert("x"); 1' }),
    ],
    ['snapshot', () => client.call('browser.snapshot', {})],
    ['screenshot', () => client.call('browser.screenshot', { fullPage: true })],
    ['focus', () => client.call('browser.focus', {})],
    ['close', () => client.call('browser.close', {})],
    ['notify', () => client.call('notification.create', { title: 'T', body: 'B', sound: true })],
  ]
  for (const [name, act] of acts) {
    await act()
    t.strictSame(await seen(), before, name)
  }

  // Not blind: a window that does open is seen.
  await openWindow('another')
  await until(
    'the other window is seen',
    async () => (await windows()).length > (before as { windows: readonly string[] }).windows.length,
  )
  t.pass('a real window is seen')
})

/** A display without a screen; its number is chosen by the server. */
async function startDisplay(t: Test): Promise<string> {
  const server = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  endWith(t, server)
  let text = ''
  server.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await until('the display is there', () => text.includes('\n'))
  return `:${text.trim()}`
}
