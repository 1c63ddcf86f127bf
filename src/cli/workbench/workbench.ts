/** Shared state of the method handlers, and the lookup of the targets that a call names. */
import type { BrowserPages } from './browser/pages.ts'
import type { TerminalEngine, WorkspaceState } from './engine/terminal-engine.ts'
import type { EventLog } from './event-log.ts'
import type { FocusGuard } from './engine/focus-guard.ts'
import type { NotificationStore } from './notifications/notification-store.ts'
import type { Notifier } from './notifications/notifier.ts'
import { WorkbenchError } from './protocol/protocol.ts'
import type { Focus, Pane, Workspace } from './protocol/results.ts'
import type { Settings } from './settings.ts'
import type { SshConnections } from './ssh/connections.ts'

export interface Workbench {
  readonly settings: Settings
  readonly engine: TerminalEngine
  readonly events: EventLog
  readonly guard: FocusGuard
  readonly notifications: NotificationStore
  readonly notifier: Notifier
  /** Loads the browser's code on first use; Chromium starts when the first page is opened. */
  readonly pages: () => Promise<BrowserPages>
  /** The open pages, without loading the browser's code. */
  readonly openPages: () => BrowserPages | undefined
  readonly ssh: SshConnections
  readonly services: WorkbenchServices
  /** Ends the host after the current answer. */
  readonly shutdown: (killSessions: boolean) => void
}

export interface WorkbenchServices {
  readonly now: () => number
  readonly newId: (prefix: string) => string
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

/** The caller's own workspace and pane, from which a missing target is derived. */
interface CallerContext {
  readonly caller: Focus | null
}

export function toWorkspace(bench: Workbench, state: WorkspaceState): Workspace {
  const { id, index, title, focused, panes } = state
  const active = panes.find((pane) => pane.focused) ?? panes[0]
  const kind = bench.ssh.findByWorkspace(id) ? 'ssh' : 'local'
  return {
    id,
    index,
    title,
    focused,
    paneCount: panes.length,
    unread: bench.notifications.countUnread(id),
    cwd: active?.cwd ?? '',
    kind,
  }
}

/** The named workspace, else the caller's own, else the one in front. Reading the focus does not move it. */
export async function resolveWorkspace(bench: Workbench, asker: CallerContext, id: string | undefined): Promise<WorkspaceState> {
  const workspaces = await bench.engine.listWorkspaces()
  const targetId = id ?? asker.caller?.workspaceId ?? undefined
  const matchingWorkspace = workspaces.find((workspace) => workspace.id === targetId)
  if (matchingWorkspace) return matchingWorkspace
  if (id !== undefined) throw new WorkbenchError('not_found', `no workspace ${id}`, { hint: 'svc workspace list' })
  const focusedWorkspace = workspaces.find((workspace) => workspace.focused)
  if (!focusedWorkspace)
    throw new WorkbenchError('not_found', 'there is no workspace', { hint: 'svc workspace new --title <text>' })
  return focusedWorkspace
}

/** The named pane, else the caller's own, else the focused pane of the workspace. */
export async function resolvePane(
  bench: Workbench,
  asker: CallerContext,
  target: { readonly paneId?: string | undefined; readonly workspaceId?: string | undefined },
): Promise<Pane> {
  const panes = (await bench.engine.listWorkspaces()).flatMap((workspace) => workspace.panes)
  const targetId = target.paneId ?? (target.workspaceId === undefined ? asker.caller?.paneId : undefined)
  const matchingPane = panes.find((pane) => pane.id === targetId)
  if (matchingPane) return matchingPane
  if (target.paneId !== undefined)
    throw new WorkbenchError('not_found', `no pane ${target.paneId}`, { hint: 'svc pane list --all' })
  const workspace = await resolveWorkspace(bench, asker, target.workspaceId)
  const pane = workspace.panes.find((pane) => pane.focused) ?? workspace.panes[0]
  if (!pane) throw new WorkbenchError('not_found', 'the workspace has no pane')
  return pane
}

export async function getPane(bench: Workbench, id: string): Promise<Pane> {
  return resolvePane(bench, { caller: null }, { paneId: id })
}

export async function getWorkspace(bench: Workbench, id: string): Promise<WorkspaceState> {
  return resolveWorkspace(bench, { caller: null }, id)
}
