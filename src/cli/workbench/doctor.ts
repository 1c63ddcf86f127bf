/** Looks for every program the workbench drives, and says what is missing, what for, and how to install it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { chromiumHint, findBrowser } from './browser/executable.ts'
import type { Check } from './results.ts'
import type { Settings } from './settings.ts'
import { tmuxHint, tmuxVersion } from './tmux/version.ts'

const run = promisify(execFile)

export function diagnose(settings: Settings): Promise<readonly Check[]> {
  const { env } = settings
  const version = (program: string, args: readonly string[]): Promise<string> =>
    run(program, args, { env, timeout: 10_000 }).then(
      ({ stdout, stderr }) => (stdout.trim() || stderr.trim()).split('\n')[0] ?? program,
    )
  return Promise.all([
    check('tmux', 'workspaces and panes', tmuxHint, () => tmuxVersion(env)),
    check('chromium', 'svc browser', chromiumHint, async () => {
      const path = await findBrowser({ chosen: settings.browser.executable, env, platform: settings.platform })
      return `${await version(path, ['--version'])} (${path})`
    }),
    check('playwright-core', 'svc browser', 'npm install playwright-core', async () => {
      await import('playwright-core')
      return 'installed'
    }),
    check('ssh', 'svc ssh and svc files', 'apt install openssh-client · dnf install openssh-clients', () =>
      version('ssh', ['-V']),
    ),
    settings.platform === 'darwin'
      ? check('osascript', 'notifications on the desktop', 'part of macOS', () => version('osascript', ['-e', 'return "found"']))
      : check('notify-send', 'notifications on the desktop', 'apt install libnotify-bin · dnf install libnotify', () =>
          version('notify-send', ['--version']),
        ),
  ])
}

async function check(name: string, needed: string, hint: string, look: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, found: await look(), needed, hint: null }
  } catch {
    return { name, ok: false, found: null, needed, hint }
  }
}
