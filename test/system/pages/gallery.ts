/**
 * The gallery: every page and state at four widths, light and dark, in both languages, with an index to look through. Run by hand, whole or
 * in part: `node test/system/pages/gallery.ts [state …] [width …]`. The pictures are not committed.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { captureWebp, launchForPictures, openUsedGateway } from '../../support/website/month-of-use.ts'
import type { Cookies, UsedGateway } from '../../support/website/month-of-use.ts'
import { galleryStates } from './gallery-states.ts'
import type { GalleryState } from './gallery-states.ts'

interface Look {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
  readonly locale: string
}

// The helpers load tap, which would end this program after 30 seconds.
t.setTimeout(3_600_000)

const folder = fileURLToPath(new URL('../../../gallery/', import.meta.url))
const widths = [360, 768, 1280, 1920]
const looks = widths.flatMap((width) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    ['en-GB', 'zh-CN'].map((locale): Look => ({ width, colorScheme, locale })),
  ),
)
const wanted = process.argv.slice(2)
const isWanted = (names: readonly string[], name: string) => !wanted.some((word) => names.includes(word)) || wanted.includes(name)

const browser = await launchForPictures()
mkdirSync(folder, { recursive: true })
try {
  const used = await openUsedGateway(browser)
  const cookies = {
    regular: used.cookies,
    new: await used.signIn('new@example.com'),
    spent: await used.signInWithoutPremium('spent@example.com'),
  }
  const stateNames = galleryStates.map(({ name }) => name)
  for (const state of galleryStates.filter(({ name }) => isWanted(stateNames, name))) {
    used.passMinute()
    for (const look of looks.filter(({ width }) => isWanted(widths.map(String), String(width))))
      await takePicture(browser, used, state, look, state.member === undefined ? [] : cookies[state.member])
    process.stdout.write(`${state.name}\n`)
  }
  writeFileSync(join(folder, 'index.html'), renderIndex(readdirSync(folder)))
  await used.close()
} finally {
  await browser.close()
}

async function takePicture(
  browser: Browser,
  used: UsedGateway,
  { name, path, prepare, act, isLoading }: GalleryState,
  { width, colorScheme, locale }: Look,
  cookies: Cookies,
): Promise<void> {
  const viewport = { width, height: width < 500 ? 780 : 860 }
  const context = await browser.newContext({ baseURL: used.gateway.url, viewport, colorScheme, locale, reducedMotion: 'reduce' })
  await context.addCookies(cookies)
  const page = await context.newPage()
  await prepare?.(page)
  await page.goto(path)
  if (isLoading !== true) await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  await act?.(page, used)
  const file = `${name}-${width}-${colorScheme}-${locale.slice(0, 2)}.webp`
  writeFileSync(join(folder, file), await captureWebp(page, path === '/chat' ? viewport.height : 3000, 70))
  await context.close()
}

function renderIndex(files: readonly string[]): string {
  const sections = galleryStates.map(({ name }) => {
    const pictures = files.filter((file) => file.replace(/-\d+-\w+-\w+\.webp$/, '') === name)
    const images = pictures.map(
      (file) => `<a href="${file}"><img src="${file}" alt="${file}" title="${file}" loading="lazy"></a>`,
    )
    return `<h2 id="${name}">${name}</h2>\n<p>${images.join('\n')}</p>`
  })
  const style =
    'body{font-family:sans-serif}p{display:flex;flex-wrap:wrap;gap:8px;align-items:start}img{height:420px;border:1px solid #999}'
  return `<!doctype html><meta charset="utf-8"><title>Every page and state</title><style>${style}</style>\n${sections.join('\n')}\n`
}
