/**
 * The terminal engine on tmux: workspaces are windows, panes are panes. Ids live in user options of the windows and panes, so a host that
 * starts again finds them. Every creating command has `-d`: the new thing is made in the background.
 */
import type {
  Direction,
  EngineChange,
  EngineClient,
  FocusIntent,
  NewPane,
  NewWorkspace,
  TerminalEngine,
  WorkspaceState,
} from '../engine.ts'
import { WorkbenchError } from '../protocol.ts'
import type { Focus } from '../results.ts'
import type { ControlClient, TmuxCommand } from './control.ts'
import { TmuxError } from './control.ts'
import { tmuxFocus } from './focus.ts'
import type { PanePlace } from './making.ts'
import { asArguments, birth, environment, naming, titling } from './making.ts'
import type { Row } from './rows.ts'
import { listRows, toWorkspaces } from './rows.ts'
import type { TmuxOptions } from './session.ts'
import { sessionName, TmuxSession } from './session.ts'
import { kept, label, literal } from './text.ts'

export class TmuxEngine implements TerminalEngine {
  readonly name: string
  readonly attach: readonly string[]
  readonly #options: TmuxOptions
  readonly #session: TmuxSession
  readonly #mark: string
  readonly #listeners: ((change: EngineChange) => void)[] = []
  /** Panes of ours that tmux may have and that do not have their ids yet. */
  readonly #births = new Set<Promise<void>>()

  constructor(version: string, options: TmuxOptions) {
    this.name = version
    this.#options = options
    this.#session = new TmuxSession(options, (change) => this.#tell(change))
    this.attach = this.#session.attach
    this.#mark = options.newId('rec')
  }

  async list(): Promise<readonly WorkspaceState[]> {
    const client = await this.#session.client()
    const rows = await this.#rows(client)
    const strangers = await this.#nameStrangers(client, rows)
    return toWorkspaces(strangers ? await this.#rows(client) : rows)
  }

  async createWorkspace(wish: NewWorkspace): Promise<Focus> {
    const client = await this.#session.client()
    const workspaceId = this.#options.newId('ws')
    const paneId = this.#options.newId('pn')
    const last = `=${sessionName}:{end}`
    await client.run(
      ['new-window', '-a', '-d', '-t', last, ...birth(wish, this.#place(workspaceId, paneId))],
      ...naming(last, workspaceId, paneId, wish),
    )
    return { workspaceId, paneId }
  }

  async renameWorkspace(id: string, title: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#window(client, id)
    await client.run(...titling(windowId, title))
    this.#tell('layout')
  }

  async closeWorkspace(id: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#window(client, id)
    await client.run(['kill-window', '-t', windowId])
  }

  async split(wish: NewPane): Promise<string> {
    const client = await this.#session.client()
    const row = await this.#pane(client, wish.paneId)
    const paneId = this.#options.newId('pn')
    const flags = [wish.direction === 'left' || wish.direction === 'right' ? '-h' : '-v']
    if (wish.direction === 'left' || wish.direction === 'up') flags.push('-b')
    // Only for a zoomed window: there a split without -Z would leave the zoom, and elsewhere -Z would enter it.
    if (row.zoomed) flags.push('-Z')
    if (wish.size !== undefined) flags.push('-l', `${wish.size}%`)
    const cwd = wish.cwd ?? row.cwd
    const argv = wish.argv ? ['--', ...asArguments(wish.argv)] : []
    if (cwd !== '') flags.push('-c', literal(cwd))
    const env = environment(this.#place(row.workspaceId, paneId))
    const birth = this.#bear(client, paneId, ['-t', row.tmuxPane, ...flags, ...env, ...argv])
    this.#births.add(birth)
    try {
      await birth
    } catch (error) {
      throw tooSmall(error)
    } finally {
      this.#births.delete(birth)
    }
    return paneId
  }

  async closePane(id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    await client.run(['kill-pane', '-t', row.tmuxPane])
    if (row.zoomed && !row.active) await this.#zoomAgain(client, row.windowId)
  }

  async stop(id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    if (row.dead || row.pid <= 1) return
    try {
      process.kill(row.pid, 'SIGHUP')
    } catch {
      // It has ended by itself meanwhile.
    }
  }

  async respawn(id: string, argv: readonly string[]): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    const env = environment(this.#place(row.workspaceId, id))
    await client.run(['respawn-pane', '-k', '-t', row.tmuxPane, ...env, '--', ...asArguments(argv)])
  }

  async resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void> {
    const client = await this.#session.client()
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
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    const buffer = this.#options.newId('buf')
    await client.run(['set-buffer', '-b', buffer, '--', text], ['paste-buffer', '-d', '-b', buffer, '-t', row.tmuxPane])
  }

  async key(id: string, name: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    if (row.inMode) throw new WorkbenchError('busy', 'the user is looking through this pane; a key would operate that view')
    // tmux types a word that names no key letter by letter; what was meant as a key must not be typed.
    if (!isKeyName(name))
      throw new WorkbenchError('invalid_params', `no such key: ${name}`, { hint: 'e.g. Enter, Escape, Up, C-c, M-x, F5' })
    await client.run(['send-keys', '-t', row.tmuxPane, '--', name])
  }

  async capture(id: string, lines: number): Promise<string> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    // Not through the control client: a program could print what looks like the end of the answer.
    const text = await this.#session.apart(['capture-pane', '-p', '-J', '-t', row.tmuxPane, '-S', `-${lines}`], 5_000)
    return text.replace(/\n+$/, '\n')
  }

  async mark(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#window(client, id)
    await client.run(
      ['set-option', '-w', '-t', windowId, '@svc_unread', entry.unread === 0 ? '' : String(entry.unread)],
      ['set-option', '-w', '-t', windowId, '@svc_note', label(entry.note)],
    )
  }

  async keep(id: string, text: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#window(client, id)
    await client.run(['set-option', '-w', '-t', windowId, '@svc_kept', kept(text)])
  }

  async focused(): Promise<Focus> {
    const client = await this.#session.client()
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
    const client = await this.#session.client()
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

  close(endSessions: boolean): Promise<void> {
    return this.#session.close(endSessions)
  }

  async focusWorkspace(intent: FocusIntent, id: string): Promise<void> {
    const client = await this.#session.client()
    await tmuxFocus.workspace(client, intent, (await this.#window(client, id)).windowId)
  }

  async stepWorkspace(intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void> {
    await tmuxFocus.step(await this.#session.client(), intent, sessionName, step)
  }

  async focusPane(intent: FocusIntent, id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#pane(client, id)
    await tmuxFocus.pane(client, intent, row.windowId, row.tmuxPane)
  }

  async focusDirection(intent: FocusIntent, direction: Direction): Promise<void> {
    await tmuxFocus.direction(await this.#session.client(), intent, sessionName, direction)
  }

  async lastPane(intent: FocusIntent): Promise<void> {
    await tmuxFocus.lastPane(await this.#session.client(), intent, sessionName)
  }

  #place(workspaceId: string, paneId: string): PanePlace {
    return { socketPath: this.#options.socketPath, workspaceId, paneId }
  }

  #rows(client: ControlClient): Promise<Row[]> {
    return listRows(client, `=${sessionName}:`, this.#mark)
  }

  /** tmux tells a split-off pane's own number only when it is there, so what it is called by us comes a moment later. */
  async #bear(client: ControlClient, paneId: string, args: readonly string[]): Promise<void> {
    const [created] = await client.run(['split-window', '-d', '-P', '-F', '#{pane_id}', ...args])
    const made = created?.[0] ?? ''
    await client.run(
      ['set-option', '-p', '-t', made, '@svc_pane', paneId],
      // In a workspace of ssh the panes of ended programs stay; one that was split off goes with its program.
      ['set-option', '-p', '-t', made, 'remain-on-exit', 'off'],
    )
  }

  /**
   * Gives ids to what the user made with tmux's own keys. Answers whether there was any. One of ours that is being made looks the
   * same for a moment, and two lookers find the same stranger: whoever has an id by then (`o`) keeps it.
   */
  async #nameStrangers(client: ControlClient, rows: readonly Row[]): Promise<boolean> {
    const { newId } = this.#options
    const windows = new Set(rows.filter((row) => row.workspaceId === '').map((row) => row.windowId))
    const panes = rows.filter((row) => row.paneId === '')
    const [first, ...more]: TmuxCommand[] = [
      ...[...windows].map((windowId): TmuxCommand => ['set-option', '-woq', '-t', windowId, '@svc_ws', newId('ws')]),
      ...panes.map((row): TmuxCommand => ['set-option', '-poq', '-t', row.tmuxPane, '@svc_pane', newId('pn')]),
    ]
    if (first === undefined) return false
    await Promise.allSettled(this.#births)
    await client.run(first, ...more)
    return true
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

  #tell(change: EngineChange): void {
    for (const listener of this.#listeners) listener(change)
  }
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
