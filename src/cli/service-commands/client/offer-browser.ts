/** Offers to open an address in a browser of this machine. */
import { spawn } from 'node:child_process'
import type { Context } from '../../context.ts'

/**
 * Opens the browser only when the user presses Enter, and offers it only on a terminal with a display: over ssh the browser would
 * open on the wrong machine.
 */
export function offerBrowser(context: Context, address: string, refused: boolean): () => void {
  const { stdin, stderr, environment } = context
  const isWeb = /^https?:$/.test(URL.parse(address)?.protocol ?? '')
  if (refused || !isWeb || !stdin.isTTY || !stderr.isTerminal || !hasDisplay(environment.variables, environment.platform))
    return () => {}
  context.printNote({ en: 'Press Enter to open it here, or just wait.', zh: '按回车键在本机打开，或直接等待。' })
  const onEnter = () => openBrowser(address, environment.platform)
  stdin.once('data', onEnter)
  stdin.resume()
  return () => {
    stdin.off('data', onEnter)
    stdin.pause()
  }
}

function hasDisplay(variables: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): boolean {
  const isSet = (name: string) => (variables[name] ?? '') !== ''
  if (isSet('SSH_CONNECTION') || isSet('SSH_TTY')) return false
  return platform === 'darwin' || platform === 'win32' || isSet('DISPLAY') || isSet('WAYLAND_DISPLAY')
}

function openBrowser(address: string, platform: NodeJS.Platform): void {
  const [program, ...words] =
    platform === 'darwin' ? ['open', address] : platform === 'win32' ? ['explorer.exe', address] : ['xdg-open', address]
  const opener = spawn(program ?? '', words, { stdio: 'ignore', detached: true })
  // The address is already printed, so a missing opener does not end the wait.
  opener.on('error', () => {})
  opener.unref()
}
