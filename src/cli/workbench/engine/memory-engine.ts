/** Workspaces and panes without a terminal, for tests of the layers above the engine on every platform. */
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Focus, Pane } from '../protocol/results.ts'
import type {
  EngineClient,
  Direction,
  EngineChange,
  FocusIntent,
  NewPane,
  NewWorkspace,
  TerminalEngine,
  WorkspaceState,
} from './terminal-engine.ts'

interface MemoryPane {
  readonly id: string
  readonly cwd: string
  readonly argv: readonly string[]
  cols: number
  rows: number
  typed: string
}

interface MemoryWorkspace {
  readonly id: string
  readonly index: number
  title: string
  metadata: string
  active: string
  readonly panes: MemoryPane[]
  statusEntry: { readonly unread: number; readonly note: string }
}

export class MemoryEngine implements TerminalEngine {
  readonly name = 'memory'
  readonly attachCommand = null
  notice = ''
  readonly #newId: (prefix: string) => string
  readonly #workspaces: MemoryWorkspace[] = []
  readonly #listeners: ((change: EngineChange) => void)[] = []
  #frontId = ''
  #previousId = ''

  constructor(newId: (prefix: string) => string) {
    this.#newId = newId
    const home = this.#add({ title: 'home', cwd: '/', env: {} })
    this.#frontId = home.id
  }

  listWorkspaces(): Promise<readonly WorkspaceState[]> {
    return Promise.resolve(
      this.#workspaces.map((workspace) => ({
        id: workspace.id,
        index: workspace.index,
        title: workspace.title,
        focused: workspace.id === this.#frontId,
        metadata: workspace.metadata,
        zoomed: false,
        panes: workspace.panes.map((pane, place) => this.#pane(workspace, pane, place)),
      })),
    )
  }

  createWorkspace(wish: NewWorkspace): Promise<Focus> {
    const workspace = this.#add(wish)
    this.#notify('layout')
    return Promise.resolve({ workspaceId: workspace.id, paneId: workspace.active })
  }

  async renameWorkspace(id: string, title: string): Promise<void> {
    this.#find(id).title = title
    this.#notify('layout')
  }

  async closeWorkspace(id: string): Promise<void> {
    this.#workspaces.splice(this.#workspaces.indexOf(this.#find(id)), 1)
    if (this.#frontId === id) this.#frontId = this.#workspaces[0]?.id ?? this.#add({ title: 'home', cwd: '/', env: {} }).id
    this.#notify('layout')
  }

  async splitPane(wish: NewPane): Promise<string> {
    const { workspace, pane } = this.#locate(wish.paneId)
    const newPane = { ...pane, id: this.#newId('pn'), cwd: wish.cwd ?? pane.cwd, argv: wish.argv ?? [], typed: '' }
    const before = wish.direction === 'left' || wish.direction === 'up'
    workspace.panes.splice(workspace.panes.indexOf(pane) + (before ? 0 : 1), 0, newPane)
    this.#notify('layout')
    return newPane.id
  }

  async closePane(id: string): Promise<void> {
    const { workspace, pane } = this.#locate(id)
    if (workspace.panes.length === 1) return this.closeWorkspace(workspace.id)
    workspace.panes.splice(workspace.panes.indexOf(pane), 1)
    if (workspace.active === id) workspace.active = workspace.panes[0]?.id ?? ''
    this.#notify('layout')
  }

  async stopPane(id: string): Promise<void> {
    this.#locate(id)
  }

  async respawnPane(id: string): Promise<void> {
    this.#locate(id).pane.typed = ''
  }

  async resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void> {
    const { pane } = this.#locate(id)
    pane.cols = size.cols ?? pane.cols
    pane.rows = size.rows ?? pane.rows
  }

  async sendText(id: string, text: string): Promise<void> {
    this.#locate(id).pane.typed += text
  }

  async sendKey(id: string, name: string): Promise<void> {
    this.#locate(id).pane.typed += name === 'Enter' ? '\n' : `<${name}>`
  }

  async capturePane(id: string, lines: number): Promise<string> {
    return this.#locate(id).pane.typed.split('\n').slice(-lines).join('\n')
  }

  async setStatusEntry(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void> {
    this.#find(id).statusEntry = entry
  }

  async setNotice(text: string): Promise<void> {
    this.notice = text
  }

  async saveMetadata(id: string, text: string): Promise<void> {
    this.#find(id).metadata = text
  }

  getFocus(): Promise<Focus> {
    return Promise.resolve({ workspaceId: this.#frontId, paneId: this.#find(this.#frontId).active })
  }

  listClients(): Promise<readonly EngineClient[]> {
    return Promise.resolve([])
  }

  onChange(listener: (change: EngineChange) => void): void {
    this.#listeners.push(listener)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async focusWorkspace(_intent: FocusIntent, id: string): Promise<void> {
    this.#show(this.#find(id).id)
  }

  async stepWorkspace(_intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void> {
    const count = this.#workspaces.length
    const here = this.#workspaces.findIndex((workspace) => workspace.id === this.#frontId)
    const to = step === 'last' ? this.#previousId : this.#workspaces[(here + (step === 'next' ? 1 : count - 1)) % count]?.id
    if (!to) throw new WorkbenchError('not_found', 'there is no previous workspace')
    this.#show(this.#find(to).id)
  }

  async focusPane(_intent: FocusIntent, id: string): Promise<void> {
    const { workspace } = this.#locate(id)
    workspace.active = id
    this.#show(workspace.id)
  }

  async focusDirection(_intent: FocusIntent, direction: Direction): Promise<void> {
    const workspace = this.#find(this.#frontId)
    const here = workspace.panes.findIndex((pane) => pane.id === workspace.active)
    const step = direction === 'left' || direction === 'up' ? workspace.panes.length - 1 : 1
    workspace.active = workspace.panes[(here + step) % workspace.panes.length]?.id ?? workspace.active
    this.#notify('focus')
  }

  async focusLastPane(_intent: FocusIntent): Promise<void> {
    return this.focusDirection(_intent, 'right')
  }

  #add(wish: NewWorkspace): MemoryWorkspace {
    const pane = { id: this.#newId('pn'), cwd: wish.cwd, argv: wish.argv ?? [], cols: 80, rows: 24, typed: '' }
    const workspace = {
      id: this.#newId('ws'),
      index: (this.#workspaces.at(-1)?.index ?? 0) + 1,
      title: wish.title,
      metadata: wish.metadata ?? '',
      active: pane.id,
      panes: [pane],
      statusEntry: { unread: 0, note: '' },
    }
    this.#workspaces.push(workspace)
    return workspace
  }

  #show(id: string): void {
    if (id !== this.#frontId) this.#previousId = this.#frontId
    this.#frontId = id
    this.#notify('focus')
  }

  #find(id: string): MemoryWorkspace {
    const workspace = this.#workspaces.find((workspace) => workspace.id === id)
    if (!workspace) throw new WorkbenchError('not_found', `no workspace ${id}`, { hint: 'svc workspace list' })
    return workspace
  }

  #locate(id: string): { workspace: MemoryWorkspace; pane: MemoryPane } {
    for (const workspace of this.#workspaces) {
      const pane = workspace.panes.find((pane) => pane.id === id)
      if (pane) return { workspace, pane }
    }
    throw new WorkbenchError('not_found', `no pane ${id}`, { hint: 'svc pane list --all' })
  }

  #pane(workspace: MemoryWorkspace, pane: MemoryPane, place: number): Pane {
    return {
      id: pane.id,
      workspaceId: workspace.id,
      index: place + 1,
      title: '',
      command: pane.argv[0] ?? 'sh',
      cwd: pane.cwd,
      cols: pane.cols,
      rows: pane.rows,
      focused: workspace.id === this.#frontId && workspace.active === pane.id,
      dead: false,
      exit: null,
    }
  }

  #notify(change: EngineChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
