/** `svc-gateway console`: a link that opens the operator's console in a browser, without an account. */
import { getSiteOrigin } from '../../config/site-origin.ts'
import { spawn } from 'node:child_process'
import type { GatewayConfig } from '../../config/config.ts'
import { ConsoleSessionService, shellLinkMs } from '../../domain/services/operators/console-session-service.ts'
import { formatInstant } from '../../domain/instant.ts'
import { isLoopbackHost } from '../../system/loopback.ts'
import { CommandError, getSystemUser, withInstallation } from '../installation.ts'
import { renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

/** @param open opens an address in this machine's browser; null: none */
export function openConsole(
  options: OutputOptions & { browser: boolean },
  open: ((address: string) => void) | null = openInBrowser,
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const site = getSite(installation.config)
    const sessions = new ConsoleSessionService(installation)
    const token = await sessions.createShellLink(getSystemUser())
    const url = `${site}/operator/link?token=${token}`
    const expiresAt = installation.clock.now() + shellLinkMs
    if (options.browser && !options.json) open?.(url)
    return renderResult(
      options,
      { url, expires_at: formatInstant(expiresAt) },
      () => `${url}\nThe link is good once, for five minutes. The server must be running.`,
    )
  })
}

/** The link is a credential, so it is made only where no network can read it. */
function getSite({ listen, console: { origin: own } }: GatewayConfig): string {
  const { protocol, hostname, origin } = new URL(own ?? getSiteOrigin(listen))
  if (protocol === 'https:' || isLoopbackHost(hostname)) return origin
  throw new CommandError(
    `The console opens over https or on this machine only, and it is at ${origin}. Set SITE_URL, or console.origin, to an https address.`,
  )
}

function openInBrowser(address: string): void {
  if (!process.stdout.isTTY) return
  const { platform } = process
  const program = platform === 'darwin' ? 'open' : platform === 'win32' ? 'explorer.exe' : 'xdg-open'
  const child = spawn(program, [address], { stdio: 'ignore', detached: true })
  // A machine without a browser: the link is printed anyway.
  child.on('error', () => undefined)
  child.unref()
}
