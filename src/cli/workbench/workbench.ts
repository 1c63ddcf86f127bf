/** What the handlers of the methods share, and how they find what a call names. */
import type { BrowserPages } from './browser/pages.ts'
import type { TerminalEngine, WorkspaceState } from './engine.ts'
import type { Events } from './events.ts'
import type { FocusGuard } from './focus-guard.ts'
import type { Notifications } from './notifications.ts'
import type { Notifier } from './notify.ts'
import { WorkbenchError } from './protocol.ts'
import type { Focus, Pane, Workspace } from './results.ts'
import type { Settings } from './settings.ts'
import type { SshConnections } from './ssh/connections.ts'

export interface Workbench {
  readonly settings: Settings
  readonly engine: TerminalEngine
  readonly events: Events
  readonly guard: FocusGuard
  readonly notifications: Notifications
  readonly notifier: Notifier
  /** Loads the browser's code on first use; Chromium starts when the first page is opened. */
  readonly pages: () => Promise<BrowserPages>
  /** The pages there are, without loading anything. */
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

/** Who asked: what a missing target is taken from. */
interface Asker {
  readonly caller: Focus | null
}

export function toWorkspace(bench: Workbench, state: WorkspaceState): Workspace {
  const { id, index, title, focused, panes } = state
  const active = panes.find((pane) => pane.focused) ?? panes[0]
  const kind = bench.ssh.ofWorkspace(id) ? 'ssh' : 'local'
  return {
    id,
    index,
    title,
    focused,
    paneCount: panes.length,
    unread: bench.notifications.unreadOf(id),
    cwd: active?.cwd ?? '',
    kind,
  }
}

/** The workspace named, else the caller's own, else the one in front. Looking at the focus does not move it. */
export async function targetWorkspace(bench: Workbench, asker: Asker, id: string | undefined): Promise<WorkspaceState> {
  const workspaces = await bench.engine.list()
  const wanted = id ?? asker.caller?.workspaceId ?? undefined
  const found = workspaces.find((workspace) => workspace.id === wanted)
  if (found) return found
  if (id !== undefined) throw new WorkbenchError('not_found', `no workspace ${id}`, { hint: 'svc workspace list' })
  const focused = workspaces.find((workspace) => workspace.focused)
  if (!focused) throw new WorkbenchError('not_found', 'there is no workspace', { hint: 'svc workspace new --title <text>' })
  return focused
}

/** The pane named, else the caller's own, else the one that has the keys in the workspace meant. */
export async function targetPane(
  bench: Workbench,
  asker: Asker,
  target: { readonly paneId?: string | undefined; readonly workspaceId?: string | undefined },
): Promise<Pane> {
  const panes = (await bench.engine.list()).flatMap((workspace) => workspace.panes)
  const wanted = target.paneId ?? (target.workspaceId === undefined ? asker.caller?.paneId : undefined)
  const found = panes.find((pane) => pane.id === wanted)
  if (found) return found
  if (target.paneId !== undefined)
    throw new WorkbenchError('not_found', `no pane ${target.paneId}`, { hint: 'svc pane list --all' })
  const workspace = await targetWorkspace(bench, asker, target.workspaceId)
  const pane = workspace.panes.find((pane) => pane.focused) ?? workspace.panes[0]
  if (!pane) throw new WorkbenchError('not_found', 'the workspace has no pane')
  return pane
}

export async function paneById(bench: Workbench, id: string): Promise<Pane> {
  return targetPane(bench, { caller: null }, { paneId: id })
}

export async function workspaceById(bench: Workbench, id: string): Promise<WorkspaceState> {
  return targetWorkspace(bench, { caller: null }, id)
}
