/** The ways a notification reaches the user: the terminals that show the workbench, and the desktop. */
import { execFile } from 'node:child_process'
import { access, open } from 'node:fs/promises'
import { constants } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineClient } from './engine.ts'
import type { Delivery } from './results.ts'

const run = promisify(execFile)

export interface Message {
  readonly title: string
  readonly body: string
  readonly sound: boolean
}

export interface NotifierOptions {
  readonly env: Readonly<Record<string, string>>
  readonly platform: string
  readonly clients: () => Promise<readonly EngineClient[]>
}

/** Shows a message wherever it can be shown without opening a window or moving the focus. Each way may fail alone. */
export class Notifier {
  readonly #options: NotifierOptions

  constructor(options: NotifierOptions) {
    this.#options = options
  }

  async show(message: Message): Promise<readonly Delivery[]> {
    return Promise.all([this.#terminals(message), this.#desktop(message)])
  }

  /** The terminals people look through have a sequence of their own for notifications; tmux is not asked, it would not pass it on. */
  async #terminals(message: Message): Promise<Delivery> {
    const clients = await this.#options.clients().catch(() => [])
    if (clients.length === 0) return { sink: 'terminal', ok: false, reason: 'nobody is attached' }
    const outcomes = await Promise.all(clients.map((client) => write(client.tty, sequence(client.term, message))))
    const failed = outcomes.filter((outcome) => outcome !== null)
    return failed.length < outcomes.length
      ? { sink: 'terminal', ok: true }
      : { sink: 'terminal', ok: false, reason: failed[0] ?? 'no terminal could be written to' }
  }

  async #desktop(message: Message): Promise<Delivery> {
    const { env, platform } = this.#options
    const command = platform === 'darwin' ? osascript(message) : await this.#notifySend(message)
    if (typeof command === 'string') return { sink: 'desktop', ok: false, reason: command }
    const [program = '', ...args] = command
    return run(program, args, { env, timeout: 3_000 }).then(
      () => ({ sink: 'desktop', ok: true }) as const,
      (error: unknown) => ({ sink: 'desktop', ok: false, reason: lastLine(error) }) as const,
    )
  }

  /** Without a session bus notify-send would try to start one, or wait for it. */
  async #notifySend(message: Message): Promise<readonly string[] | string> {
    const { env } = this.#options
    const bus = env['DBUS_SESSION_BUS_ADDRESS'] ? true : await reachable(env['XDG_RUNTIME_DIR'])
    if (!bus) return 'there is no desktop session here'
    const sound = message.sound ? ['--hint=string:sound-name:message-new-instant'] : []
    return ['notify-send', '--app-name=svc', ...sound, '--', message.title, message.body]
  }
}

const knowOsc777 = /kitty|ghostty|wezterm|foot|rxvt/i
/** Terminals that print what they do not understand. */
const printEverything = /^(?:linux|dumb|vt\d+|cons\d+)/

/** OSC 777 where it is known to be understood, else OSC 9; the words cut to what a notification shows. */
export function sequence(term: string, message: Message): string {
  const bell = message.sound ? '\u0007' : ''
  if (printEverything.test(term)) return bell
  const title = oneLine(message.title, 120)
  const body = oneLine(message.body, 400)
  if (knowOsc777.test(term)) return `\u001b]777;notify;${title.replaceAll(';', ',')};${body.replaceAll(';', ',')}\u001b\\${bell}`
  return `\u001b]9;${body === '' ? title : `${title}: ${body}`}\u001b\\${bell}`
}

/** The words are arguments of the script, never part of its text, and never options: a title `-e` would be more script. */
function osascript(message: Message): readonly string[] {
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

/** Nothing but printable characters may stand within a terminal's control sequence. */
function oneLine(text: string, limit: number): string {
  return [...text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()].slice(0, limit).join('')
}

/** Null when written; otherwise why not. Without waiting: a stopped terminal (Ctrl-S) must not hold the host. */
async function write(tty: string, text: string): Promise<string | null> {
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

async function reachable(runtimeDir: string | undefined): Promise<boolean> {
  if (!runtimeDir) return false
  return access(join(runtimeDir, 'bus')).then(
    () => true,
    () => false,
  )
}

function lastLine(error: unknown): string {
  const failure = error as { readonly code?: unknown; readonly stderr?: unknown; readonly message?: unknown }
  if (failure.code === 'ENOENT') return 'notify-send is not installed'
  const text = typeof failure.stderr === 'string' && failure.stderr.trim() !== '' ? failure.stderr : String(failure.message)
  return text.trim().split('\n').at(-1) ?? 'failed'
}
