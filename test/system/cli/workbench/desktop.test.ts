/** On a desktop the workbench's browser and notifications open no window and activate none. */
import { execFile, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import type { Test } from 'tap'
import t from 'tap'
import { requireProgram } from '../../../support/require-program.ts'
import { createFolder, startTestWorkbench, createTestSettings } from './support/test-workbench.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { startSite } from './support/form-site.ts'
import { killAtEnd } from './support/user.ts'

const run = promisify(execFile)

t.test('no window appears and none is activated', async (t) => {
  const executablePath = requireProgram(t, 'chromium', 'google-chrome')
  if (executablePath === undefined || !requireProgram(t, 'Xvfb') || !requireProgram(t, 'xdotool')) return
  const dir = createFolder(t)
  const display = await startDisplay(t)
  const env = { ...createTestSettings(dir).env, DISPLAY: display }
  const xdotool = async (...words: readonly string[]): Promise<string> => (await run('xdotool', words, { env })).stdout.trim()
  // The root window always matches. A search fails as a whole where a window vanishes meanwhile, and is repeated.
  const windows = (name = '.*'): Promise<readonly string[]> =>
    waitUntil(async () => {
      const found = await xdotool('search', '--onlyvisible', '--name', name).catch(() => '')
      return found !== '' && found.split('\n').toSorted()
    }, `a window named ${name}`)
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
  const [own = ''] = await windows('the-users-own')
  await xdotool('windowfocus', '--sync', own)
  const seen = async (): Promise<unknown> => ({ windows: await windows(), focus: await xdotool('getwindowfocus') })
  const before = await seen()

  // The user's ordinary browser, which could open a window.
  const browser = { ...createTestSettings(dir).browser, executable: executablePath }
  const { client } = await startTestWorkbench(t, { env, browser }, dir)
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

  // Proves that the check detects a window that does open.
  await openWindow('another')
  await waitUntil(
    async () => (await windows()).length > (before as { windows: readonly string[] }).windows.length,
    'the other window is seen',
  )
  t.pass('a real window is seen')
})

/** A display without a screen; the server chooses its number. */
async function startDisplay(t: Test): Promise<string> {
  const server = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  killAtEnd(t, server)
  let text = ''
  server.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await waitUntil(() => text.includes('\n'), 'the display is there')
  return `:${text.trim()}`
}
