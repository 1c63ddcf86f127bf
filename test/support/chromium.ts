/** Chromium for tests of the website: the system's own, without a sandbox where it runs as root, and without calls to anywhere. */
import { accessSync, constants } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The browser's path, or null where there is none. */
export function browserPath(): string | null {
  return places.find(isRunnable) ?? null
}

/**
 * Why browser tests cannot run here, or false. A developer without Chromium skips them and reads why; in CI nothing is skipped:
 * there the launch fails and says what is missing.
 */
export function noBrowser(): string | false {
  if (browserPath() !== null || process.env['CI'] === 'true') return false
  return `no Chromium at ${places.join(', ')}`
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = browserPath()
  if (executablePath === null) throw new Error(`Chromium is needed at one of ${places.join(', ')}; apt-get install chromium.`)
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
    ],
  })
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
