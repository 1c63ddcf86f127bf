/**
 * The pictures of the README: each page at 1280 and 360 pixels, light (English) and dark (Chinese), written to `docs/screenshots/`. Run by
 * hand after a visual change: `node test/system/pages/screenshots.ts [page …]`. `gallery.ts` has every state.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openConsoleStory } from '../../support/website/console-story.ts'
import { captureWebp, converse, launchForPictures, openUsedGateway } from '../../support/website/month-of-use.ts'

// The helpers load tap, which would end this program after 30 seconds.
t.setTimeout(600_000)

const folder = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url))
const member = { path: '', signedIn: true } as const
const pages: Readonly<Record<string, { readonly path: string; readonly signedIn: boolean }>> = {
  home: { path: '/', signedIn: false },
  'sign-in': { path: '/sign-in', signedIn: false },
  docs: { path: '/docs', signedIn: false },
  'not-found': { path: '/no-such-page', signedIn: false },
  account: { ...member, path: '/account' },
  boosts: { ...member, path: '/account/boosts' },
  security: { ...member, path: '/account/security' },
  profile: { ...member, path: '/account/profile' },
  keys: { ...member, path: '/keys' },
  sessions: { ...member, path: '/sessions' },
  device: { ...member, path: '/device' },
  chat: { ...member, path: '/chat' },
}
const looks = [
  { width: 1280, height: 860, colorScheme: 'light', locale: 'en-GB' },
  { width: 1280, height: 860, colorScheme: 'dark', locale: 'zh-CN' },
  { width: 360, height: 780, colorScheme: 'light', locale: 'en-GB' },
  { width: 360, height: 780, colorScheme: 'dark', locale: 'zh-CN' },
] as const

const wanted = process.argv.slice(2)
const isWanted = (name: string): boolean =>
  wanted.length === 0 || wanted.includes(name) || wanted.includes(name.split('-')[0] ?? '')
const browser = await launchForPictures()
mkdirSync(folder, { recursive: true })
try {
  const { gateway, cookies, startDevice, passMinute, close } = await openUsedGateway(browser)
  for (const { width, height, colorScheme, locale } of looks) {
    passMinute()
    for (const [name, { path, signedIn }] of Object.entries(pages)) {
      if (!isWanted(name)) continue
      const context = await browser.newContext({ baseURL: gateway.url, viewport: { width, height }, colorScheme, locale })
      if (signedIn) await context.addCookies(cookies)
      const page = await context.newPage()
      await page.goto(name === 'device' ? (await startDevice()).verification_uri_complete : path)
      // A locator, not a function: the content policy of the page forbids repeated evaluation of text.
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      if (name === 'chat')
        await converse(
          page,
          { model: 'svc-2.1', text: 'How do plans and quota work here?' },
          { model: 'svc-img', text: 'A lighthouse at dusk' },
        )
      if (name === 'device') await page.locator('.user-code').waitFor()
      writeFileSync(
        join(folder, `${name}-${width}-${colorScheme}.webp`),
        await captureWebp(page, name === 'chat' ? height : 1400),
      )
      await context.close()
    }
  }
  if (isWanted('console')) {
    passMinute()
    const console = await openConsoleStory(gateway)
    for (const { width, height, colorScheme, locale } of looks) {
      const context = await browser.newContext({ baseURL: gateway.url, viewport: { width, height }, colorScheme, locale })
      await context.addCookies([console.cookie])
      for (const [name, path] of Object.entries(console.pages)) {
        const page = await context.newPage()
        await page.goto(path)
        writeFileSync(join(folder, `console-${name}-${width}-${colorScheme}.webp`), await captureWebp(page, 1400))
        await page.close()
      }
      await context.close()
    }
  }
  await close()
} finally {
  await browser.close()
}
