/**
 * The one session of a private tmux server, in which everything is. The server outlives the host: a host that starts again finds the
 * session, and one that finds none begins it.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineChange } from '../engine.ts'
import { WorkbenchError } from '../protocol.ts'
import { tmuxConfiguration } from './configuration.ts'
import type { TmuxCommand } from './control.ts'
import { ControlClient } from './control.ts'
import { birth, naming } from './making.ts'

export const sessionName = 'svc'

export interface TmuxOptions {
  /** A directory of the user's own (0700): tmux's socket and configuration live there. */
  readonly runDir: string
  /** The environment of tmux and of every pane. */
  readonly env: Readonly<Record<string, string>>
  /** Where the first workspace starts. */
  readonly home: string
  readonly socketPath: string
  readonly newId: (prefix: string) => string
}

/** The command that reaches the private tmux server. */
export function tmuxArguments(runDir: string): readonly string[] {
  return ['tmux', '-u', '-S', join(runDir, 'tmux.sock'), '-f', join(runDir, 'tmux.conf')]
}

export class TmuxSession {
  /** The command line that shows the session in a terminal. */
  readonly attach: readonly string[]
  readonly #options: TmuxOptions
  readonly #tell: (change: EngineChange) => void
  readonly #tmux: readonly string[]
  #client: Promise<ControlClient> | undefined
  #closed = false

  constructor(options: TmuxOptions, tell: (change: EngineChange) => void) {
    this.#options = options
    this.#tell = tell
    this.#tmux = tmuxArguments(options.runDir)
    this.attach = [...this.#tmux, 'attach-session', '-t', `=${sessionName}`]
  }

  /** The client of the session; it is made anew after the server has gone. */
  client(): Promise<ControlClient> {
    if (this.#closed) return Promise.reject(new WorkbenchError('shutting_down', 'the workbench is stopping'))
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  /** One command by a process of its own, past the client. */
  async apart(args: readonly string[], timeoutMs: number): Promise<string> {
    const [program = 'tmux', ...base] = this.#tmux
    const options = { env: this.#options.env, timeout: timeoutMs, maxBuffer: 32 * 1024 * 1024 }
    return (await promisify(execFile)(program, [...base, ...args], options)).stdout
  }

  async close(endSessions: boolean): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    if (endSessions) await this.apart(['kill-server'], 5_000).catch(() => undefined)
    client?.close()
    await client?.ended
  }

  async #connect(): Promise<ControlClient> {
    const { runDir, env } = this.#options
    await mkdir(runDir, { recursive: true, mode: 0o700 })
    await writeFile(join(runDir, 'tmux.conf'), tmuxConfiguration, { mode: 0o600 })
    const exists = await this.apart(['has-session', '-t', `=${sessionName}`], 10_000).then(
      () => true,
      () => false,
    )
    if (!exists) await this.#begin()
    const client = new ControlClient(this.#tmux, sessionName, env, (notice) => this.#heed(notice))
    await client.ready
    void this.#forgetWhenEnded(client)
    return client
  }

  async #begin(): Promise<void> {
    const { home, socketPath, newId } = this.#options
    const workspaceId = newId('ws')
    const paneId = newId('pn')
    const wish = { title: 'home', cwd: home, env: {} }
    const made = birth(wish, { socketPath, workspaceId, paneId })
    const commands: TmuxCommand[] = [
      ['new-session', '-d', '-s', sessionName, '-x', '120', '-y', '36', ...made],
      ...naming(`=${sessionName}:`, workspaceId, paneId, wish),
    ]
    await this.apart(
      commands.flatMap((command, index) => (index === 0 ? command : [';', ...command])),
      10_000,
    )
  }

  async #forgetWhenEnded(client: ControlClient): Promise<void> {
    await client.ended
    this.#client = undefined
    this.#tell('gone')
  }

  #heed(notice: string): void {
    const [name = ''] = notice.split(' ', 1)
    if (focusNotices.has(name)) this.#tell('focus')
    if (layoutNotices.has(name)) this.#tell('layout')
  }
}

const focusNotices = new Set(['%session-window-changed', '%window-pane-changed'])
const layoutNotices = new Set(['%window-add', '%window-close', '%unlinked-window-close', '%window-renamed', '%layout-change'])
