/**
 * The single session of a private tmux server, which holds all windows. The server outlives the host: a restarted host finds the
 * session, or creates it.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineChange } from '../engine/terminal-engine.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import { tmuxConfiguration } from './configuration.ts'
import type { TmuxCommand } from './control.ts'
import { ControlClient } from './control.ts'
import { newWindowArgs, tagCommands } from './tmux-commands.ts'

export const sessionName = 'svc'

export interface TmuxOptions {
  /** A private directory of the user (0700) with tmux's socket and configuration. */
  readonly runDir: string
  /** The environment of tmux and of every pane. */
  readonly env: Readonly<Record<string, string>>
  /** The directory in which the first workspace starts. */
  readonly home: string
  readonly socketPath: string
  readonly newId: (prefix: string) => string
}

/** The command that reaches the private tmux server. */
export function getTmuxCommand(runDir: string): readonly string[] {
  return ['tmux', '-u', '-S', join(runDir, 'tmux.sock'), '-f', join(runDir, 'tmux.conf')]
}

export class TmuxSession {
  /** The command line that displays the session in a terminal. */
  readonly attachCommand: readonly string[]
  readonly #options: TmuxOptions
  readonly #onChange: (change: EngineChange) => void
  readonly #tmux: readonly string[]
  #client: Promise<ControlClient> | undefined
  #closed = false

  constructor(options: TmuxOptions, onChange: (change: EngineChange) => void) {
    this.#options = options
    this.#onChange = onChange
    this.#tmux = getTmuxCommand(options.runDir)
    this.attachCommand = [...this.#tmux, 'attach-session', '-t', `=${sessionName}`]
  }

  /** The client of the session; created again after the server has ended. */
  client(): Promise<ControlClient> {
    if (this.#closed) return Promise.reject(new WorkbenchError('shutting_down', 'the workbench is stopping'))
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  /** Runs one command in its own process, not through the client. */
  async runSeparately(args: readonly string[], timeoutMs: number): Promise<string> {
    const [program = 'tmux', ...base] = this.#tmux
    const options = { env: this.#options.env, timeout: timeoutMs, maxBuffer: 32 * 1024 * 1024 }
    return (await promisify(execFile)(program, [...base, ...args], options)).stdout
  }

  async close(endSessions: boolean): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    if (endSessions) await this.runSeparately(['kill-server'], 5_000).catch(() => undefined)
    client?.close()
    await client?.ended
  }

  async #connect(): Promise<ControlClient> {
    const { runDir, env } = this.#options
    await mkdir(runDir, { recursive: true, mode: 0o700 })
    await writeFile(join(runDir, 'tmux.conf'), tmuxConfiguration, { mode: 0o600 })
    const exists = await this.runSeparately(['has-session', '-t', `=${sessionName}`], 10_000).then(
      () => true,
      () => false,
    )
    if (!exists) await this.#createSession()
    const client = new ControlClient(this.#tmux, sessionName, env, (notice) => this.#handleNotice(notice))
    await client.ready
    void this.#watchForEnd(client)
    return client
  }

  async #createSession(): Promise<void> {
    const { home, socketPath, newId } = this.#options
    const workspaceId = newId('ws')
    const paneId = newId('pn')
    const wish = { title: 'home', cwd: home, env: {} }
    const windowArgs = newWindowArgs(wish, { socketPath, workspaceId, paneId })
    const commands: TmuxCommand[] = [
      ['new-session', '-d', '-s', sessionName, '-x', '120', '-y', '36', ...windowArgs],
      ...tagCommands(`=${sessionName}:`, workspaceId, paneId, wish),
    ]
    await this.runSeparately(
      commands.flatMap((command, index) => (index === 0 ? command : [';', ...command])),
      10_000,
    )
  }

  async #watchForEnd(client: ControlClient): Promise<void> {
    await client.ended
    this.#client = undefined
    this.#onChange('gone')
  }

  #handleNotice(notice: string): void {
    const [name = ''] = notice.split(' ', 1)
    if (focusNotices.has(name)) this.#onChange('focus')
    if (layoutNotices.has(name)) this.#onChange('layout')
  }
}

const focusNotices = new Set(['%session-window-changed', '%window-pane-changed'])
const layoutNotices = new Set(['%window-add', '%window-close', '%unlinked-window-close', '%window-renamed', '%layout-change'])
