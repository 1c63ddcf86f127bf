/** Chromium as a child process of the workbench: without a window and with a minimal environment. */
import type { Browser } from 'playwright-core'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Settings } from '../settings.ts'
import { findBrowserExecutable } from './executable.ts'

const sandboxHint =
  'run the workbench as an ordinary user, or allow user namespaces for the browser; SVC_BROWSER_SANDBOX=off turns the sandbox off, and then any page may reach what you can'

/** Starts Chromium without a window. Its environment holds only what a browser needs: no keys, no tokens. */
export async function launchChromium(settings: Settings): Promise<Browser> {
  const { chromium } = await import('playwright-core').catch((cause: unknown) => {
    throw new WorkbenchError('engine_unavailable', 'the browser library playwright-core is not installed', {
      hint: 'npm install playwright-core',
      cause,
    })
  })
  const executablePath = await findBrowserExecutable({
    configuredPath: settings.browser.executable,
    env: settings.env,
    platform: settings.platform,
    bundledPath: chromium.executablePath(),
  })
  try {
    return await chromium.launch({
      executablePath,
      headless: true,
      // The library disables the sandbox by default.
      chromiumSandbox: settings.browser.sandbox,
      env: createBrowserEnvironment(settings.env),
      timeout: 30_000,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    })
  } catch (cause) {
    throw toLaunchError(cause)
  }
}

const passedVariables = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'FONTCONFIG_PATH',
  'SYSTEMROOT',
  'USERPROFILE',
]
const proxyVariables = /^(?:https?|all|no)_proxy$/i

/** Passes no display on: a browser that cannot reach one cannot open a window. */
function createBrowserEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => passedVariables.includes(name) || proxyVariables.test(name)))
}

function toLaunchError(cause: unknown): WorkbenchError {
  const words = cause instanceof Error ? cause.message : String(cause)
  if (/no usable sandbox|without --no-sandbox|sandbox.*(?:not|fail)/i.test(words)) {
    return new WorkbenchError('engine_unavailable', 'Chromium cannot use its sandbox here', { hint: sandboxHint, cause })
  }
  return new WorkbenchError('engine_unavailable', `Chromium did not start: ${words.split('\n')[0] ?? ''}`, { cause })
}
