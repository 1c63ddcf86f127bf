/** Compares the engine's current layout with the previous one and emits the differences as events. */
import type { TerminalEngine, WorkspaceState } from './terminal-engine.ts'
import type { EventName } from '../protocol/protocol.ts'

type Emit = (name: EventName, data: Readonly<Record<string, unknown>>) => void

export class LayoutWatcher {
  readonly #engine: TerminalEngine
  readonly #emit: Emit
  #lastWorkspaces = new Map<string, WorkspaceState>()
  #running: Promise<void> | undefined
  #isRepeatRequested = false

  constructor(engine: TerminalEngine, emit: Emit) {
    this.#engine = engine
    this.#emit = emit
  }

  /** Compares now, or once more after a comparison that is running. */
  refresh(): Promise<void> {
    if (this.#running) {
      this.#isRepeatRequested = true
      return this.#running
    }
    this.#running = this.#compare().finally(() => {
      this.#running = undefined
      if (!this.#isRepeatRequested) return
      this.#isRepeatRequested = false
      void this.refresh().catch(() => undefined)
    })
    return this.#running
  }

  /** The initial layout causes no events. */
  async start(): Promise<void> {
    this.#lastWorkspaces = indexById(await this.#engine.listWorkspaces())
  }

  async #compare(): Promise<void> {
    const before = this.#lastWorkspaces
    const now = indexById(await this.#engine.listWorkspaces())
    this.#lastWorkspaces = now
    for (const workspace of now.values()) this.#compareWorkspace(before.get(workspace.id), workspace)
    for (const workspace of before.values()) {
      if (now.has(workspace.id)) continue
      for (const pane of workspace.panes) this.#emit('pane.closed', { paneId: pane.id, workspaceId: workspace.id })
      this.#emit('workspace.closed', { workspaceId: workspace.id })
    }
  }

  #compareWorkspace(before: WorkspaceState | undefined, now: WorkspaceState): void {
    if (!before) this.#emit('workspace.created', { workspaceId: now.id, title: now.title })
    else if (before.title !== now.title) this.#emit('workspace.renamed', { workspaceId: now.id, title: now.title })
    for (const pane of now.panes) {
      const old = before?.panes.find((other) => other.id === pane.id)
      if (!old) this.#emit('pane.created', { paneId: pane.id, workspaceId: now.id })
      if (pane.dead && !old?.dead) this.#emit('pane.exited', { paneId: pane.id, workspaceId: now.id })
    }
    for (const old of before?.panes ?? []) {
      if (!now.panes.some((pane) => pane.id === old.id)) this.#emit('pane.closed', { paneId: old.id, workspaceId: now.id })
    }
  }
}

function indexById(workspaces: readonly WorkspaceState[]): Map<string, WorkspaceState> {
  return new Map(workspaces.map((workspace) => [workspace.id, workspace]))
}
