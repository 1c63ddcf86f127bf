/** Sends notifications to the user: through the terminals that display the workbench, and through the desktop. */
import { execFile } from 'node:child_process'
import { access, open } from 'node:fs/promises'
import { constants } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineClient } from '../engine/terminal-engine.ts'
import type { Delivery } from '../protocol/results.ts'

const run = promisify(execFile)

interface NotificationMessage {
  readonly title: string
  readonly body: string
  readonly sound: boolean
}

interface NotifierOptions {
  readonly env: Readonly<Record<string, string>>
  readonly platform: string
  readonly listClients: () => Promise<readonly EngineClient[]>
}

/** Shows a message through every channel that opens no window and moves no focus. Channels fail independently. */
export class Notifier {
  readonly #options: NotifierOptions

  constructor(options: NotifierOptions) {
    this.#options = options
  }

  async show(message: NotificationMessage): Promise<readonly Delivery[]> {
    return Promise.all([this.#notifyTerminals(message), this.#notifyDesktop(message)])
  }

  /** Terminals have their own notification sequence. It is written past tmux, which would not forward it. */
  async #notifyTerminals(message: NotificationMessage): Promise<Delivery> {
    const clients = await this.#options.listClients().catch(() => [])
    if (clients.length === 0) return { sink: 'terminal', ok: false, reason: 'no terminal is attached' }
    const outcomes = await Promise.all(
      clients.map((client) => writeToTty(client.tty, createTerminalSequence(client.term, message))),
    )
    const failureReasons = outcomes.filter((outcome) => outcome !== null)
    return failureReasons.length < outcomes.length
      ? { sink: 'terminal', ok: true }
      : { sink: 'terminal', ok: false, reason: failureReasons[0] ?? 'no terminal could be written to' }
  }

  async #notifyDesktop(message: NotificationMessage): Promise<Delivery> {
    const { env, platform } = this.#options
    const command = platform === 'darwin' ? createOsascriptCommand(message) : await this.#createNotifySendCommand(message)
    if (typeof command === 'string') return { sink: 'desktop', ok: false, reason: command }
    const [program = '', ...args] = command
    return run(program, args, { env, timeout: 3_000 }).then(
      () => ({ sink: 'desktop', ok: true }) as const,
      (error: unknown) => ({ sink: 'desktop', ok: false, reason: getLastLine(error) }) as const,
    )
  }

  /** Without a session bus notify-send would try to start one, or wait for it. */
  async #createNotifySendCommand(message: NotificationMessage): Promise<readonly string[] | string> {
    const { env } = this.#options
    const bus = env['DBUS_SESSION_BUS_ADDRESS'] ? true : await hasSessionBus(env['XDG_RUNTIME_DIR'])
    if (!bus) return 'there is no desktop session here'
    const sound = message.sound ? ['--hint=string:sound-name:message-new-instant'] : []
    return ['notify-send', '--app-name=svc', ...sound, '--', message.title, message.body]
  }
}

const osc777Terminals = /kitty|ghostty|wezterm|foot|rxvt/i
/** Terminals that print unknown sequences. */
const literalTerminals = /^(?:linux|dumb|vt\d+|cons\d+)/

/** OSC 777 for terminals that support it, else OSC 9; the text is cut to the length that a notification shows. */
export function createTerminalSequence(term: string, message: NotificationMessage): string {
  const bell = message.sound ? '\u0007' : ''
  if (literalTerminals.test(term)) return bell
  const title = toSingleLine(message.title, 120)
  const body = toSingleLine(message.body, 400)
  if (osc777Terminals.test(term))
    return `\u001b]777;notify;${title.replaceAll(';', ',')};${body.replaceAll(';', ',')}\u001b\\${bell}`
  return `\u001b]9;${body === '' ? title : `${title}: ${body}`}\u001b\\${bell}`
}

/** Passes the texts as arguments, not as part of the script and not as options: a title `-e` would add script. */
function createOsascriptCommand(message: NotificationMessage): readonly string[] {
  const sound = message.sound ? ' sound name "Ping"' : ''
  return [
    'osascript',
    '-e',
    'on run argv',
    '-e',
    `display notification (item 2 of argv) with title (item 1 of argv)${sound}`,
    '-e',
    'end run',
    '--',
    message.title,
    message.body,
  ]
}

/** Removes everything but printable characters, for use inside a terminal's control sequence. */
function toSingleLine(text: string, limit: number): string {
  return [...text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()].slice(0, limit).join('')
}

/** Returns null when written, else the reason. Does not block: a stopped terminal (Ctrl-S) must not hold up the host. */
async function writeToTty(tty: string, text: string): Promise<string | null> {
  if (text === '') return null
  try {
    const file = await open(tty, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK)
    try {
      await file.write(text)
    } finally {
      await file.close()
    }
    return null
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown'
  }
}

async function hasSessionBus(runtimeDir: string | undefined): Promise<boolean> {
  if (!runtimeDir) return false
  return access(join(runtimeDir, 'bus')).then(
    () => true,
    () => false,
  )
}

function getLastLine(error: unknown): string {
  const failure = error as { readonly code?: unknown; readonly stderr?: unknown; readonly message?: unknown }
  if (failure.code === 'ENOENT') return 'notify-send is not installed'
  const text = typeof failure.stderr === 'string' && failure.stderr.trim() !== '' ? failure.stderr : String(failure.message)
  return text.trim().split('\n').at(-1) ?? 'failed'
}
