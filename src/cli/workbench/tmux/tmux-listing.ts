/** Lists tmux's windows and panes in records that a title or a path cannot forge. */
import type { WorkspaceState } from '../engine/terminal-engine.ts'
import type { Pane } from '../protocol/results.ts'
import type { ControlClient } from './control.ts'

/** Values chosen by programs cannot shift the other fields: tabs are removed, and `pane_title` comes last. */
const fieldNames = [
  'pid',
  'window_id',
  '@svc_ws',
  'window_index',
  'window_active',
  'window_zoomed_flag',
  '@svc_title',
  '@svc_named',
  '@svc_kept',
  'pane_id',
  'pane_pid',
  '@svc_pane',
  'pane_index',
  'pane_active',
  'pane_width',
  'pane_height',
  'pane_dead',
  'pane_dead_status',
  'pane_dead_signal',
  'pane_in_mode',
  's|\t| |:pane_current_command',
  's|\t| |:window_name',
  's|\t| |:pane_start_path',
  's|\t| |:pane_current_path',
  'pane_title',
] as const

/** A pane and its window, as tmux reports them. */
export interface PaneRecord {
  /** The id of tmux itself. */
  readonly serverPid: number
  readonly windowId: string
  readonly workspaceId: string
  readonly windowIndex: number
  readonly windowActive: boolean
  readonly zoomed: boolean
  readonly title: string
  readonly metadata: string
  readonly tmuxPane: string
  readonly pid: number
  readonly paneId: string
  readonly paneIndex: number
  readonly active: boolean
  readonly cols: number
  readonly rows: number
  readonly dead: boolean
  readonly exit: number | null
  readonly inMode: boolean
  readonly command: string
  readonly cwd: string
  readonly paneTitle: string
}

/**
 * The panes of a session, one record each. `mark` starts each record: a path with a line end cannot forge another
 * record without that mark.
 */
export async function listPaneRecords(client: ControlClient, session: string, recordMarker: string): Promise<PaneRecord[]> {
  const format = fieldNames.map((field) => `#{${field}}`).join('\t')
  const [lines = []] = await client.run(['list-panes', '-s', '-t', session, '-F', `${recordMarker}\t${format}`])
  const records: string[] = []
  for (const line of lines) {
    if (line.startsWith(`${recordMarker}\t`)) records.push(line.slice(recordMarker.length + 1))
    else if (records.length > 0) records.push(`${records.pop()}\n${line}`)
  }
  const rows = records.map(parsePaneRecord)
  const unreadPane = rows.find((row) => row.dead && row.exit === null)
  if (unreadPane) resendSigchld(unreadPane.serverPid)
  return rows
}

export function toWorkspaces(rows: readonly PaneRecord[]): WorkspaceState[] {
  const windows = Map.groupBy(
    rows.filter((row) => row.workspaceId !== '' && row.paneId !== ''),
    (row) => row.workspaceId,
  )
  return [...windows.values()].flatMap((panes) => {
    const [first] = panes
    if (!first) return []
    // The number in the status bar, so that users can type what they see.
    const { workspaceId: id, windowIndex: index, title, windowActive: focused, metadata, zoomed } = first
    return [{ id, index, title, focused, metadata, zoomed, panes: panes.map(toPane) }]
  })
}

function parsePaneRecord(record: string): PaneRecord {
  const fields = record.split('\t')
  const field = (name: (typeof fieldNames)[number]): string => fields[fieldNames.indexOf(name)] ?? ''
  const windowName = field('s|\t| |:window_name')
  // A name that the engine did not set was typed by the user into tmux and becomes the title.
  const renamed = field('@svc_named') !== windowName
  return {
    serverPid: Number(field('pid')),
    windowId: field('window_id'),
    workspaceId: field('@svc_ws'),
    windowIndex: Number(field('window_index')),
    windowActive: field('window_active') === '1',
    zoomed: field('window_zoomed_flag') === '1',
    title: renamed ? windowName : decodeURIComponent(field('@svc_title')),
    metadata: decodeURIComponent(field('@svc_kept')),
    tmuxPane: field('pane_id'),
    pid: Number(field('pane_pid')),
    paneId: field('@svc_pane'),
    paneIndex: Number(field('pane_index')),
    active: field('pane_active') === '1',
    cols: Number(field('pane_width')),
    rows: Number(field('pane_height')),
    dead: field('pane_dead') === '1',
    exit: toExitCode(field('pane_dead_status'), field('pane_dead_signal')),
    inMode: field('pane_in_mode') !== '0',
    command: field('s|\t| |:pane_current_command'),
    // A shell that has not started has no directory yet; it will start in the one it was given.
    cwd: field('s|\t| |:pane_current_path') || field('s|\t| |:pane_start_path'),
    paneTitle: fields.slice(fieldNames.indexOf('pane_title')).join(' '),
  }
}

/** Exit code in the shell's convention: a signal is 128 plus its number. For a moment after the end tmux reports neither. */
function toExitCode(status: string, signal: string): number | null {
  if (status !== '') return Number(status)
  return signal === '' ? null : 128 + Number(signal)
}

/**
 * tmux before 3.5 misses the signal of a child that ends while libutempter has the handler: the pane is dead and its exit
 * code stays unread. Sending the signal again makes tmux read it; the next listing contains it.
 */
function resendSigchld(serverPid: number): void {
  if (serverPid <= 1) return
  try {
    process.kill(serverPid, 'SIGCHLD')
  } catch {
    // The server has just ended, and its panes with it.
  }
}

function toPane(row: PaneRecord): Pane {
  const { paneId: id, workspaceId, paneIndex: index, paneTitle: title, command, cwd, cols, rows, dead, exit } = row
  return { id, workspaceId, index, title, command, cwd, cols, rows, focused: row.windowActive && row.active, dead, exit }
}
