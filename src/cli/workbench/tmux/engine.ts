/**
 * The terminal engine on tmux: workspaces are windows, panes are panes. Ids live in user options of the windows and panes, so a
 * restarted host finds them. Every creating command has `-d`, which creates in the background.
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
} from '../engine/terminal-engine.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Focus } from '../protocol/results.ts'
import type { ControlClient, TmuxCommand } from './control.ts'
import { TmuxError } from './control.ts'
import { tmuxFocus } from './focus.ts'
import type { PaneIdentity } from './tmux-commands.ts'
import { toProgramArgs, newWindowArgs, environmentArgs, tagCommands, titleCommands } from './tmux-commands.ts'
import type { PaneRecord } from './tmux-listing.ts'
import { listPaneRecords, toWorkspaces } from './tmux-listing.ts'
import type { TmuxOptions } from './session.ts'
import { sessionName, TmuxSession } from './session.ts'
import { encodeOptionValue, toStatusLabel, escapeFormat } from './quoting.ts'

export class TmuxEngine implements TerminalEngine {
  readonly name: string
  readonly attachCommand: readonly string[]
  readonly #options: TmuxOptions
  readonly #session: TmuxSession
  readonly #recordMarker: string
  readonly #listeners: ((change: EngineChange) => void)[] = []
  /** Panes that the engine is creating and that do not have their ids yet. */
  readonly #pendingSplits = new Set<Promise<void>>()

  constructor(version: string, options: TmuxOptions) {
    this.name = version
    this.#options = options
    this.#session = new TmuxSession(options, (change) => this.#notify(change))
    this.attachCommand = this.#session.attachCommand
    this.#recordMarker = options.newId('rec')
  }

  async listWorkspaces(): Promise<readonly WorkspaceState[]> {
    const client = await this.#session.client()
    const rows = await this.#listPanes(client)
    const hasUserPanes = await this.#tagUserPanes(client, rows)
    return toWorkspaces(hasUserPanes ? await this.#listPanes(client) : rows)
  }

  async createWorkspace(wish: NewWorkspace): Promise<Focus> {
    const client = await this.#session.client()
    const workspaceId = this.#options.newId('ws')
    const paneId = this.#options.newId('pn')
    const last = `=${sessionName}:{end}`
    await client.run(
      ['new-window', '-a', '-d', '-t', last, ...newWindowArgs(wish, this.#getPaneIdentity(workspaceId, paneId))],
      ...tagCommands(last, workspaceId, paneId, wish),
    )
    return { workspaceId, paneId }
  }

  async renameWorkspace(id: string, title: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#findWindow(client, id)
    await client.run(...titleCommands(windowId, title))
    this.#notify('layout')
  }

  async closeWorkspace(id: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#findWindow(client, id)
    await client.run(['kill-window', '-t', windowId])
  }

  async splitPane(wish: NewPane): Promise<string> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, wish.paneId)
    const paneId = this.#options.newId('pn')
    const flags = [wish.direction === 'left' || wish.direction === 'right' ? '-h' : '-v']
    if (wish.direction === 'left' || wish.direction === 'up') flags.push('-b')
    // Only for a zoomed window: there a split without -Z would leave the zoom, and elsewhere -Z would enter it.
    if (row.zoomed) flags.push('-Z')
    if (wish.size !== undefined) flags.push('-l', `${wish.size}%`)
    const cwd = wish.cwd ?? row.cwd
    const argv = wish.argv ? ['--', ...toProgramArgs(wish.argv)] : []
    if (cwd !== '') flags.push('-c', escapeFormat(cwd))
    const env = environmentArgs(this.#getPaneIdentity(row.workspaceId, paneId))
    const pendingSplit = this.#splitWindow(client, paneId, ['-t', row.tmuxPane, ...flags, ...env, ...argv])
    this.#pendingSplits.add(pendingSplit)
    try {
      await pendingSplit
    } catch (error) {
      throw toSplitError(error)
    } finally {
      this.#pendingSplits.delete(pendingSplit)
    }
    return paneId
  }

  async closePane(id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    await client.run(['kill-pane', '-t', row.tmuxPane])
    if (row.zoomed && !row.active) await this.#restoreZoom(client, row.windowId)
  }

  async stopPane(id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    if (row.dead || row.pid <= 1) return
    try {
      process.kill(row.pid, 'SIGHUP')
    } catch {
      // It has ended by itself meanwhile.
    }
  }

  async respawnPane(id: string, argv: readonly string[]): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    const env = environmentArgs(this.#getPaneIdentity(row.workspaceId, id))
    await client.run(['respawn-pane', '-k', '-t', row.tmuxPane, ...env, '--', ...toProgramArgs(argv)])
  }

  async resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    const wish = [
      ...(size.cols === undefined ? [] : ['-x', String(size.cols)]),
      ...(size.rows === undefined ? [] : ['-y', String(size.rows)]),
    ]
    await client.run(['resize-pane', '-t', row.tmuxPane, ...wish])
    if (row.zoomed) await this.#restoreZoom(client, row.windowId)
  }

  /**
   * Types through a paste buffer, which reaches the program even while the user scrolls through the pane's history (`send-keys`
   * would then operate the history view), and tmux turns line ends into Enter.
   */
  async sendText(id: string, text: string): Promise<void> {
    if (text === '') return
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    const buffer = this.#options.newId('buf')
    await client.run(['set-buffer', '-b', buffer, '--', text], ['paste-buffer', '-d', '-b', buffer, '-t', row.tmuxPane])
  }

  async sendKey(id: string, name: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    if (row.inMode) throw new WorkbenchError('busy', 'the user is looking through this pane; a key would operate that view')
    // tmux types an unknown key name letter by letter, so it is refused.
    if (!isKeyName(name))
      throw new WorkbenchError('invalid_params', `no such key: ${name}`, { hint: 'e.g. Enter, Escape, Up, C-c, M-x, F5' })
    await client.run(['send-keys', '-t', row.tmuxPane, '--', name])
  }

  async capturePane(id: string, lines: number): Promise<string> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    // Not through the control client: a program could print text that resembles the end of the answer.
    const text = await this.#session.runSeparately(['capture-pane', '-p', '-J', '-t', row.tmuxPane, '-S', `-${lines}`], 5_000)
    return text.replace(/\n+$/, '\n')
  }

  async setStatusEntry(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#findWindow(client, id)
    await client.run(
      ['set-option', '-w', '-t', windowId, '@svc_unread', entry.unread === 0 ? '' : String(entry.unread)],
      ['set-option', '-w', '-t', windowId, '@svc_note', toStatusLabel(entry.note)],
    )
  }

  async setNotice(text: string): Promise<void> {
    const client = await this.#session.client()
    await client.run(['set-option', '-t', `=${sessionName}:`, '@svc_notice', toStatusLabel(text)])
  }

  async saveMetadata(id: string, text: string): Promise<void> {
    const client = await this.#session.client()
    const { windowId } = await this.#findWindow(client, id)
    await client.run(['set-option', '-w', '-t', windowId, '@svc_kept', encodeOptionValue(text)])
  }

  async getFocus(): Promise<Focus> {
    const client = await this.#session.client()
    const [answer] = await client.run(['list-panes', '-t', `=${sessionName}:`, '-F', '#{pane_active}\t#{@svc_ws}\t#{@svc_pane}'])
    const fields = answer?.find((line) => line.startsWith('1\t'))?.split('\t')
    if (!fields) return { workspaceId: null, paneId: null }
    if (!fields[1] || !fields[2]) {
      await this.listWorkspaces() // the user made it by a key of tmux: it gets its ids now
      return this.getFocus()
    }
    return { workspaceId: fields[1], paneId: fields[2] }
  }

  async listClients(): Promise<readonly EngineClient[]> {
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
    await tmuxFocus.workspace(client, intent, (await this.#findWindow(client, id)).windowId)
  }

  async stepWorkspace(intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void> {
    await tmuxFocus.step(await this.#session.client(), intent, sessionName, step)
  }

  async focusPane(intent: FocusIntent, id: string): Promise<void> {
    const client = await this.#session.client()
    const row = await this.#findPane(client, id)
    await tmuxFocus.pane(client, intent, row.windowId, row.tmuxPane)
  }

  async focusDirection(intent: FocusIntent, direction: Direction): Promise<void> {
    await tmuxFocus.direction(await this.#session.client(), intent, sessionName, direction)
  }

  async focusLastPane(intent: FocusIntent): Promise<void> {
    await tmuxFocus.lastPane(await this.#session.client(), intent, sessionName)
  }

  #getPaneIdentity(workspaceId: string, paneId: string): PaneIdentity {
    return { socketPath: this.#options.socketPath, workspaceId, paneId }
  }

  #listPanes(client: ControlClient): Promise<PaneRecord[]> {
    return listPaneRecords(client, `=${sessionName}:`, this.#recordMarker)
  }

  /** tmux reports the number of a new pane only after the split, so the pane gets its id a moment later. */
  async #splitWindow(client: ControlClient, paneId: string, args: readonly string[]): Promise<void> {
    const [createdLines] = await client.run(['split-window', '-d', '-P', '-F', '#{pane_id}', ...args])
    const tmuxPaneId = createdLines?.[0] ?? ''
    await client.run(
      ['set-option', '-p', '-t', tmuxPaneId, '@svc_pane', paneId],
      // In a workspace of ssh the panes of ended programs stay; a pane that was split off closes with its program.
      ['set-option', '-p', '-t', tmuxPaneId, 'remain-on-exit', 'off'],
    )
  }

  /**
   * Gives ids to windows and panes that the user created with tmux's own keys. Returns whether there were any. A pane that the engine
   * is creating looks the same for a moment, and two scans find the same pane: an id that exists by then (`o`) is kept.
   */
  async #tagUserPanes(client: ControlClient, rows: readonly PaneRecord[]): Promise<boolean> {
    const { newId } = this.#options
    const windows = new Set(rows.filter((row) => row.workspaceId === '').map((row) => row.windowId))
    const panes = rows.filter((row) => row.paneId === '')
    const [first, ...more]: TmuxCommand[] = [
      ...[...windows].map((windowId): TmuxCommand => ['set-option', '-woq', '-t', windowId, '@svc_ws', newId('ws')]),
      ...panes.map((row): TmuxCommand => ['set-option', '-poq', '-t', row.tmuxPane, '@svc_pane', newId('pn')]),
    ]
    if (first === undefined) return false
    await Promise.allSettled(this.#pendingSplits)
    await client.run(first, ...more)
    return true
  }

  async #findWindow(client: ControlClient, id: string): Promise<PaneRecord> {
    const row = (await this.#listPanes(client)).find((row) => row.workspaceId === id)
    if (!row) throw new WorkbenchError('not_found', `no workspace ${id}`, { hint: 'svc workspace list' })
    return row
  }

  async #findPane(client: ControlClient, id: string): Promise<PaneRecord> {
    const row = (await this.#listPanes(client)).find((row) => row.paneId === id)
    if (!row) throw new WorkbenchError('not_found', `no pane ${id}`, { hint: 'svc pane list --all' })
    return row
  }

  /** Closing or resizing another pane leaves the zoom; this restores the user's view. */
  async #restoreZoom(client: ControlClient, windowId: string): Promise<void> {
    const active = (await this.#listPanes(client)).find((row) => row.windowId === windowId && row.active)
    if (active && !active.zoomed) await client.run(['resize-pane', '-Z', '-t', active.tmuxPane])
  }

  #notify(change: EngineChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

function toSplitError(error: unknown): unknown {
  if (!(error instanceof TmuxError) || !/no space|too small/.test(error.message)) return error
  return new WorkbenchError('busy', 'the pane is too small to be split', { cause: error })
}

const namedKeys =
  /^(?:Enter|Escape|Space|Tab|BTab|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|PgUp|PgDn|PPage|NPage|Insert|IC|Delete|DC|F(?:[1-9]|1[0-2])|[!-~])$/i

/** `C-`, `M-`, `S-` before a key name of tmux or one printable character. */
function isKeyName(name: string): boolean {
  return namedKeys.test(name.replace(/^(?:[CMS]-)+(?=.)/, ''))
}
