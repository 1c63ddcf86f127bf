/** Compares what the engine shows now with what it showed before, and tells the differences as events. */
import type { TerminalEngine, WorkspaceState } from './engine.ts'
import type { EventName } from './protocol.ts'

type Emit = (name: EventName, data: Readonly<Record<string, unknown>>) => void

export class LayoutWatch {
  readonly #engine: TerminalEngine
  readonly #emit: Emit
  #known = new Map<string, WorkspaceState>()
  #running: Promise<void> | undefined
  #again = false

  constructor(engine: TerminalEngine, emit: Emit) {
    this.#engine = engine
    this.#emit = emit
  }

  /** Looks now, or once more after the look that is under way. */
  look(): Promise<void> {
    if (this.#running) {
      this.#again = true
      return this.#running
    }
    this.#running = this.#compare().finally(() => {
      this.#running = undefined
      if (!this.#again) return
      this.#again = false
      void this.look().catch(() => undefined)
    })
    return this.#running
  }

  /** What is there already is no news. */
  async start(): Promise<void> {
    this.#known = byId(await this.#engine.list())
  }

  async #compare(): Promise<void> {
    const before = this.#known
    const now = byId(await this.#engine.list())
    this.#known = now
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

function byId(workspaces: readonly WorkspaceState[]): Map<string, WorkspaceState> {
  return new Map(workspaces.map((workspace) => [workspace.id, workspace]))
}
