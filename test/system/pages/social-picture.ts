/**
 * Writes the site's PNG files from its own components: `social.png` for links in messengers and other sites, and the icon for
 * home screens and for browsers without SVG icons. Run by hand after a visual change: `node test/system/pages/social-picture.ts`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import base from '../../../gateway.config.ts'
import { checkConfig } from '../../../src/config/config.ts'
import { openGateway } from '../../../src/server/serving-thread.ts'
import { findProgram } from '../../support/require-program.ts'
import { launchChromium } from '../../support/website/chromium.ts'

// The helpers load tap, which would end this program after 30 seconds.
t.setTimeout(600_000)

const folder = fileURLToPath(new URL('../../../src/pages/browser/', import.meta.url))
const executablePath = findProgram('chromium') ?? findProgram('google-chrome')
if (executablePath === undefined) throw new Error('The pictures need Chromium: apt-get install chromium.')
const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-picture-'))
const config = checkConfig({ ...base, listen: { host: '127.0.0.1', port: 0 }, store: { dataDir }, log: { level: 'silent' } })
const gateway = await openGateway({ config })
const browser = await launchChromium(executablePath)
try {
  // The picture says nothing about the brand, which the operator chooses.
  const style = `
    body > :not(main), main > :not(.hero), .hero-words { display: none !important }
    .hero { padding: 0; width: 1200px; height: 630px; display: grid; place-items: center }
    .hero-row { display: block; width: 46rem; padding: 0; font-size: 1.25rem }
  `
  const context = await browser.newContext({ baseURL: gateway.url, locale: 'en-GB', bypassCSP: true })
  const page = await context.newPage()
  await page.setViewportSize({ width: 1200, height: 630 })
  await page.goto('/')
  await page.addStyleTag({ content: style })
  await page.screenshot({ path: join(folder, 'social.png') })
  const icon = readFileSync(join(folder, 'icon.svg'), 'utf8')
  // Home screens round the corners by themselves, and fill transparent ones with black.
  for (const [size, svg] of [
    [48, icon],
    [180, icon.replace(' rx="8"', '')],
  ] as const) {
    await page.setViewportSize({ width: size, height: size })
    await page.setContent(`<style>body { margin: 0 } svg { display: block; width: ${size}px; height: ${size}px }</style>${svg}`)
    await page.screenshot({ path: join(folder, `icon-${size}.png`), omitBackground: true })
  }
} finally {
  await browser.close()
  await gateway.close({ drainMs: 200 })
  rmSync(dataDir, { recursive: true, force: true })
}
process.exit(0)
