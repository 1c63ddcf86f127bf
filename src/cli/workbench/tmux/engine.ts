/** The terminal engine on tmux. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Focus } from '../protocol.ts'
import { WorkbenchError } from '../protocol.ts'
import type {
  EngineClient,
  Direction,
  EngineChange,
  FocusIntent,
  NewPane,
  NewWorkspace,
  TerminalEngine,
  WorkspaceState,
} from '../engine.ts'
import { tmuxConfiguration } from './configuration.ts'
import type { TmuxCommand } from './control.ts'
import { ControlClient, TmuxError } from './control.ts'
import { tmuxFocus } from './focus.ts'
import type { Row } from './rows.ts'
import { listRows, toWorkspaces } from './rows.ts'
import { kept, label, literal } from './text.ts'

const run = promisify(execFile)

const sessionName = 'svc'
const oldestVersion = 3.2
export const tmuxHint = 'install tmux 3.2 or newer: apt install tmux · dnf install tmux · brew install tmux'

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

/** Which tmux is on the PATH. Throws `engine_unavailable` with the command that installs it. */
export async function tmuxVersion(env: Readonly<Record<string, string>>): Promise<string> {
  const answer = await run('tmux', ['-V'], { env, timeout: 5_000 }).catch((cause: unknown) => {
    throw new WorkbenchError('engine_unavailable', 'tmux is not installed', { hint: tmuxHint, cause })
  })
  const version = answer.stdout.trim()
  if (Number.parseFloat(version.replace(/^\D+/, '')) < oldestVersion) {
    throw new WorkbenchError('engine_unavailable', `${version} is too old`, { hint: tmuxHint })
  }
  return version
}

/**
 * Workspaces are windows, panes are panes of one session of a private tmux server, which outlives the host. Ids live in user
 * options of the windows and panes, so a host that starts again finds them. Every creating command has `-d`: the new thing
 * is made in the background.
 */
export class TmuxEngine implements TerminalEngine {
  readonly name: string
  readonly attach: readonly string[]
  readonly #options: TmuxOptions
  readonly #tmux: readonly string[]
  readonly #mark: string
  readonly #listeners: ((change: EngineChange) => void)[] = []
  #client: Promise<ControlClient> | undefined
  #closed = false

  constructor(version: string, options: TmuxOptions) {
    this.name = version
    this.#options = options
    this.#tmux = tmuxArguments(options.runDir)
    this.attach = [...this.#tmux, 'attach-session', '-t', `=${sessionName}`]
    this.#mark = options.newId('rec')
  }

  async list(): Promise<readonly WorkspaceState[]> {
    const client = await this.#connected()
    const rows = await this.#rows(client)
    const strangers = await this.#nameStrangers(client, rows)
    return toWorkspaces(strangers ? await this.#rows(client) : rows)
  }

  async createWorkspace(wish: NewWorkspace): Promise<Focus> {
    const client = await this.#connected()
    const workspaceId = this.#options.newId('ws')
    const paneId = this.#options.newId('pn')
    const last = `=${sessionName}:{end}`
    await client.run(
      ['new-window', '-a', '-d', '-t', last, ...this.#birth(workspaceId, paneId, wish)],
      ...naming(last, workspaceId, paneId, wish),
    )
    return { workspaceId, paneId }
  }

  async renameWorkspace(id: string, title: string): Promise<void> {
    const client = await this.#connected()
    const { windowId } = await this.#window(client, id)
    await client.run(...titling(windowId, title))
    this.#tell('layout')
  }

  async closeWorkspace(id: string): Promise<void> {
    const client = await this.#connected()
    const { windowId } = await this.#window(client, id)
    await client.run(['kill-window', '-t', windowId])
  }

  async split(wish: NewPane): Promise<string> {
    const client = await this.#connected()
    const row = await this.#pane(client, wish.paneId)
    const paneId = this.#options.newId('pn')
    const flags = [wish.direction === 'left' || wish.direction === 'right' ? '-h' : '-v']
    if (wish.direction === 'left' || wish.direction === 'up') flags.push('-b')
    // Only for a zoomed window: there a split without -Z would leave the zoom, and elsewhere -Z would enter it.
    if (row.zoomed) flags.push('-Z')
    if (wish.size !== undefined) flags.push('-l', `${wish.size}%`)
    const cwd = wish.cwd ?? row.cwd
    const env = Object.entries(this.#paneEnvironment(row.workspaceId, paneId)).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ])
    try {
      const [created] = await client.run([
        'split-window',
        '-d',
        '-P',
        '-F',
        '#{pane_id}',
        '-t',
        row.tmuxPane,
        ...flags,
        ...(cwd === '' ? [] : ['-c', literal(cwd)]),
        ...env,
        ...(wish.argv ? ['--', ...asArguments(wish.argv)] : []),
      ])
      const made = created?.[0] ?? ''
      await client.run(
        ['set-option', '-p', '-t', made, '@svc_pane', paneId],
        // In a workspace of ssh the panes of ended programs stay; one that was split off goes with its program.
        ['set-option', '-p', '-t', made, 'remain-on-exit', 'off'],
      )
    } catch (error) {
      throw tooSmall(error)
    }
    return paneId
  }

  async closePane(id: string): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    await client.run(['kill-pane', '-t', row.tmuxPane])
    if (row.zoomed && !row.active) await this.#zoomAgain(client, row.windowId)
  }

  async stop(id: string): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    if (row.dead || row.pid <= 1) return
    try {
      process.kill(row.pid, 'SIGHUP')
    } catch {
      // It has ended by itself meanwhile.
    }
  }

  async respawn(id: string, argv: readonly string[]): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    const env = Object.entries(this.#paneEnvironment(row.workspaceId, id)).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    await client.run(['respawn-pane', '-k', '-t', row.tmuxPane, ...env, '--', ...asArguments(argv)])
  }

  async resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    const wish = [
      ...(size.cols === undefined ? [] : ['-x', String(size.cols)]),
      ...(size.rows === undefined ? [] : ['-y', String(size.rows)]),
    ]
    await client.run(['resize-pane', '-t', row.tmuxPane, ...wish])
    if (row.zoomed) await this.#zoomAgain(client, row.windowId)
  }

  /**
   * Typed through a paste buffer: that goes to the program even while the user looks through the pane's history (`send-keys`
   * would then operate the history view), and tmux turns line ends into Enter.
   */
  async send(id: string, text: string): Promise<void> {
    if (text === '') return
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    const buffer = this.#options.newId('buf')
    await client.run(['set-buffer', '-b', buffer, '--', text], ['paste-buffer', '-d', '-b', buffer, '-t', row.tmuxPane])
  }

  async key(id: string, name: string): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    if (row.inMode) throw new WorkbenchError('busy', 'the user is looking through this pane; a key would operate that view')
    // tmux types a word that names no key letter by letter; what was meant as a key must not be typed.
    if (!isKeyName(name))
      throw new WorkbenchError('invalid_params', `no such key: ${name}`, { hint: 'e.g. Enter, Escape, Up, C-c, M-x, F5' })
    await client.run(['send-keys', '-t', row.tmuxPane, '--', name])
  }

  async capture(id: string, lines: number): Promise<string> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    // Not through the control client: a program could print what looks like the end of the answer.
    const [program = 'tmux', ...base] = this.#tmux
    const args = [...base, 'capture-pane', '-p', '-J', '-t', row.tmuxPane, '-S', `-${lines}`]
    const answer = await run(program, args, { env: this.#options.env, timeout: 5_000, maxBuffer: 32 * 1024 * 1024 })
    return answer.stdout.replace(/\n+$/, '\n')
  }

  async mark(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void> {
    const client = await this.#connected()
    const { windowId } = await this.#window(client, id)
    await client.run(
      ['set-option', '-w', '-t', windowId, '@svc_unread', entry.unread === 0 ? '' : String(entry.unread)],
      ['set-option', '-w', '-t', windowId, '@svc_note', label(entry.note)],
    )
  }

  async keep(id: string, text: string): Promise<void> {
    const client = await this.#connected()
    const { windowId } = await this.#window(client, id)
    await client.run(['set-option', '-w', '-t', windowId, '@svc_kept', kept(text)])
  }

  async focused(): Promise<Focus> {
    const client = await this.#connected()
    const [answer] = await client.run(['list-panes', '-t', `=${sessionName}:`, '-F', '#{pane_active}\t#{@svc_ws}\t#{@svc_pane}'])
    const fields = answer?.find((line) => line.startsWith('1\t'))?.split('\t')
    if (!fields) return { workspaceId: null, paneId: null }
    if (!fields[1] || !fields[2]) {
      await this.list() // the user made it by a key of tmux: it gets its ids now
      return this.focused()
    }
    return { workspaceId: fields[1], paneId: fields[2] }
  }

  async clients(): Promise<readonly EngineClient[]> {
    const client = await this.#connected()
    const [lines = []] = await client.run([
      'list-clients',
      '-F',
      '#{client_control_mode}\t#{client_tty}\t#{client_termname}\t#{client_activity}',
    ])
    return lines
      .map((line) => line.split('\t'))
      .filter(([control, tty]) => control === '0' && tty !== '')
      .map(([, tty = '', term = '', activity = '0']) => ({ tty, term, activeAt: Number(activity) }))
  }

  onChange(listener: (change: EngineChange) => void): void {
    this.#listeners.push(listener)
  }

  async close(endSessions: boolean): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    if (endSessions) {
      const [program = 'tmux', ...base] = this.#tmux
      await run(program, [...base, 'kill-server'], { env: this.#options.env, timeout: 5_000 }).catch(() => undefined)
    }
    client?.close()
    await client?.ended
  }

  async focusWorkspace(intent: FocusIntent, id: string): Promise<void> {
    const client = await this.#connected()
    await tmuxFocus.workspace(client, intent, (await this.#window(client, id)).windowId)
  }

  async stepWorkspace(intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void> {
    await tmuxFocus.step(await this.#connected(), intent, sessionName, step)
  }

  async focusPane(intent: FocusIntent, id: string): Promise<void> {
    const client = await this.#connected()
    const row = await this.#pane(client, id)
    await tmuxFocus.pane(client, intent, row.windowId, row.tmuxPane)
  }

  async focusDirection(intent: FocusIntent, direction: Direction): Promise<void> {
    await tmuxFocus.direction(await this.#connected(), intent, sessionName, direction)
  }

  async lastPane(intent: FocusIntent): Promise<void> {
    await tmuxFocus.lastPane(await this.#connected(), intent, sessionName)
  }

  #connected(): Promise<ControlClient> {
    if (this.#closed) return Promise.reject(new WorkbenchError('shutting_down', 'the workbench is stopping'))
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  async #connect(): Promise<ControlClient> {
    const { runDir, env } = this.#options
    await mkdir(runDir, { recursive: true, mode: 0o700 })
    await writeFile(join(runDir, 'tmux.conf'), tmuxConfiguration, { mode: 0o600 })
    const [program = 'tmux', ...base] = this.#tmux
    const tmux = (...args: readonly string[]): Promise<unknown> => run(program, [...base, ...args], { env, timeout: 10_000 })
    const exists = await tmux('has-session', '-t', `=${sessionName}`).then(
      () => true,
      () => false,
    )
    if (!exists) await this.#createSession(tmux)
    const client = new ControlClient(this.#tmux, sessionName, env, (notice) => this.#heed(notice))
    await client.ready
    void this.#forgetWhenEnded(client)
    return client
  }

  async #forgetWhenEnded(client: ControlClient): Promise<void> {
    await client.ended
    this.#client = undefined
    this.#tell('gone')
  }

  async #createSession(tmux: (...args: readonly string[]) => Promise<unknown>): Promise<void> {
    const workspaceId = this.#options.newId('ws')
    const paneId = this.#options.newId('pn')
    const wish = { title: 'home', cwd: this.#options.home, env: {} }
    const commands: TmuxCommand[] = [
      ['new-session', '-d', '-s', sessionName, '-x', '120', '-y', '36', ...this.#birth(workspaceId, paneId, wish)],
      ...naming(`=${sessionName}:`, workspaceId, paneId, wish),
    ]
    await tmux(...commands.flatMap((command, index) => (index === 0 ? command : [';', ...command])))
  }

  /** The arguments that a new window and a new session have in common. */
  #birth(workspaceId: string, paneId: string, wish: NewWorkspace): string[] {
    const env = { ...wish.env, ...this.#paneEnvironment(workspaceId, paneId) }
    return [
      '-n',
      literal(label(wish.title)),
      '-c',
      literal(wish.cwd),
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...(wish.argv ? ['--', ...asArguments(wish.argv)] : []),
    ]
  }

  #paneEnvironment(workspaceId: string, paneId: string): Readonly<Record<string, string>> {
    return { SVC_SOCKET: this.#options.socketPath, SVC_WORKSPACE_ID: workspaceId, SVC_PANE_ID: paneId, TERM_PROGRAM: 'svc' }
  }

  #rows(client: ControlClient): Promise<Row[]> {
    return listRows(client, `=${sessionName}:`, this.#mark)
  }

  /** Gives ids to what the user made with tmux's own keys. Answers whether there was any. */
  async #nameStrangers(client: ControlClient, rows: readonly Row[]): Promise<boolean> {
    const commands: TmuxCommand[] = []
    for (const row of new Map(rows.filter((row) => row.workspaceId === '').map((row) => [row.windowId, row])).values()) {
      commands.push(['set-option', '-w', '-t', row.windowId, '@svc_ws', this.#options.newId('ws')])
    }
    for (const row of rows.filter((row) => row.paneId === '')) {
      commands.push(['set-option', '-p', '-t', row.tmuxPane, '@svc_pane', this.#options.newId('pn')])
    }
    if (commands.length > 0) await client.run(commands[0] ?? ['refresh-client'], ...commands.slice(1))
    return commands.length > 0
  }

  async #window(client: ControlClient, id: string): Promise<Row> {
    const row = (await this.#rows(client)).find((row) => row.workspaceId === id)
    if (!row) throw new WorkbenchError('not_found', `no workspace ${id}`, { hint: 'svc workspace list' })
    return row
  }

  async #pane(client: ControlClient, id: string): Promise<Row> {
    const row = (await this.#rows(client)).find((row) => row.paneId === id)
    if (!row) throw new WorkbenchError('not_found', `no pane ${id}`, { hint: 'svc pane list --all' })
    return row
  }

  /** Closing or resizing another pane leaves the zoom; the user's view is put back as it was. */
  async #zoomAgain(client: ControlClient, windowId: string): Promise<void> {
    const active = (await this.#rows(client)).find((row) => row.windowId === windowId && row.active)
    if (active && !active.zoomed) await client.run(['resize-pane', '-Z', '-t', active.tmuxPane])
  }

  #heed(notice: string): void {
    const [name = ''] = notice.split(' ', 1)
    if (focusNotices.has(name)) this.#tell('focus')
    if (layoutNotices.has(name)) this.#tell('layout')
  }

  #tell(change: EngineChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

const focusNotices = new Set(['%session-window-changed', '%window-pane-changed'])
const layoutNotices = new Set(['%window-add', '%window-close', '%unlinked-window-close', '%window-renamed', '%layout-change'])

function naming(target: string, workspaceId: string, paneId: string, wish: NewWorkspace): TmuxCommand[] {
  return [
    ['set-option', '-w', '-t', target, '@svc_ws', workspaceId],
    ['set-option', '-p', '-t', target, '@svc_pane', paneId],
    ['set-option', '-w', '-t', target, '@svc_title', kept(wish.title)],
    ['set-option', '-w', '-F', '-t', target, '@svc_named', '#{window_name}'],
    ...(wish.kept === undefined
      ? []
      : ([['set-option', '-w', '-t', target, '@svc_kept', kept(wish.kept)]] satisfies TmuxCommand[])),
    ...(wish.argv ? ([['set-option', '-w', '-t', target, 'remain-on-exit', 'on']] satisfies TmuxCommand[]) : []),
  ]
}

function titling(windowId: string, title: string): [TmuxCommand, ...TmuxCommand[]] {
  return [
    ['rename-window', '-t', windowId, '--', literal(label(title))],
    ['set-option', '-w', '-t', windowId, '@svc_title', kept(title)],
    ['set-option', '-w', '-F', '-t', windowId, '@svc_named', '#{window_name}'],
  ]
}

/** tmux gives a single argument to a shell; two or more are run as they are. `env` makes one into two. */
function asArguments(argv: readonly string[]): readonly string[] {
  return argv.length === 1 ? ['env', ...argv] : argv
}

function tooSmall(error: unknown): unknown {
  if (!(error instanceof TmuxError) || !/no space|too small/.test(error.message)) return error
  return new WorkbenchError('busy', 'the pane is too small to be split', { cause: error })
}

const namedKeys =
  /^(?:Enter|Escape|Space|Tab|BTab|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|PgUp|PgDn|PPage|NPage|Insert|IC|Delete|DC|F(?:[1-9]|1[0-2])|[!-~])$/i

/** `C-`, `M-`, `S-` in front of a key tmux knows by name or of one printable character. */
function isKeyName(name: string): boolean {
  return namedKeys.test(name.replace(/^(?:[CMS]-)+(?=.)/, ''))
}
