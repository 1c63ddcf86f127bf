/** Checks every program that the workbench uses and reports the missing ones, their purpose, and how to install them. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { chromiumHint, findBrowserExecutable } from './browser/executable.ts'
import type { Check } from './protocol/results.ts'
import type { Settings } from './settings.ts'
import { tmuxHint, readTmuxVersion } from './tmux/version.ts'

const run = promisify(execFile)

export function runChecks(settings: Settings): Promise<readonly Check[]> {
  const { env } = settings
  const version = (program: string, args: readonly string[]): Promise<string> =>
    run(program, args, { env, timeout: 10_000 }).then(
      ({ stdout, stderr }) => (stdout.trim() || stderr.trim()).split('\n')[0] ?? program,
    )
  return Promise.all([
    runCheck('tmux', 'workspaces and panes', tmuxHint, () => readTmuxVersion(env)),
    runCheck('chromium', 'svc browser', chromiumHint, async () => {
      const path = await findBrowserExecutable({ configuredPath: settings.browser.executable, env, platform: settings.platform })
      return `${await version(path, ['--version'])} (${path})`
    }),
    runCheck('playwright-core', 'svc browser', 'npm install playwright-core', async () => {
      await import('playwright-core')
      return 'installed'
    }),
    runCheck('ssh', 'svc ssh and svc files', 'apt install openssh-client · dnf install openssh-clients', () =>
      version('ssh', ['-V']),
    ),
    settings.platform === 'darwin'
      ? runCheck('osascript', 'notifications on the desktop', 'part of macOS', () =>
          version('osascript', ['-e', 'return "found"']),
        )
      : runCheck('notify-send', 'notifications on the desktop', 'apt install libnotify-bin · dnf install libnotify', () =>
          version('notify-send', ['--version']),
        ),
  ])
}

async function runCheck(name: string, needed: string, hint: string, look: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, found: await look(), needed, hint: null }
  } catch {
    return { name, ok: false, found: null, needed, hint }
  }
}
