/** What tmux tells of its windows and panes, read from records that a title or a path cannot forge. */
import type { WorkspaceState } from '../engine.ts'
import type { Pane } from '../results.ts'
import type { ControlClient } from './control.ts'

/** What programs choose themselves cannot shift the other fields: tabs are taken out, and `pane_title` comes last. */
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

/** A pane, and the window it is in, as tmux tells them. */
export interface Row {
  /** Of tmux itself. */
  readonly serverPid: number
  readonly windowId: string
  readonly workspaceId: string
  readonly windowIndex: number
  readonly shown: boolean
  readonly zoomed: boolean
  readonly title: string
  readonly kept: string
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
 * The panes of a session, one row each. `mark` starts each record: a path that holds a line end cannot pass for another
 * record without knowing it.
 */
export async function listRows(client: ControlClient, session: string, mark: string): Promise<Row[]> {
  const format = fieldNames.map((field) => `#{${field}}`).join('\t')
  const [lines = []] = await client.run(['list-panes', '-s', '-t', session, '-F', `${mark}\t${format}`])
  const records: string[] = []
  for (const line of lines) {
    if (line.startsWith(`${mark}\t`)) records.push(line.slice(mark.length + 1))
    else if (records.length > 0) records.push(`${records.pop()}\n${line}`)
  }
  const rows = records.map(toRow)
  const unread = rows.find((row) => row.dead && row.exit === null)
  if (unread) remindOfChildren(unread.serverPid)
  return rows
}

export function toWorkspaces(rows: readonly Row[]): WorkspaceState[] {
  const windows = Map.groupBy(
    rows.filter((row) => row.workspaceId !== '' && row.paneId !== ''),
    (row) => row.workspaceId,
  )
  return [...windows.values()].flatMap((panes) => {
    const [first] = panes
    if (!first) return []
    // The number that the bar shows: what is typed is what was seen.
    const { workspaceId: id, windowIndex: index, title, shown: focused, kept, zoomed } = first
    return [{ id, index, title, focused, kept, zoomed, panes: panes.map(toPane) }]
  })
}

function toRow(record: string): Row {
  const fields = record.split('\t')
  const field = (name: (typeof fieldNames)[number]): string => fields[fieldNames.indexOf(name)] ?? ''
  const windowName = field('s|\t| |:window_name')
  // A name that is not the one given here was typed by the user into tmux: it is the title now.
  const renamed = field('@svc_named') !== windowName
  return {
    serverPid: Number(field('pid')),
    windowId: field('window_id'),
    workspaceId: field('@svc_ws'),
    windowIndex: Number(field('window_index')),
    shown: field('window_active') === '1',
    zoomed: field('window_zoomed_flag') === '1',
    title: renamed ? windowName : decodeURIComponent(field('@svc_title')),
    kept: decodeURIComponent(field('@svc_kept')),
    tmuxPane: field('pane_id'),
    pid: Number(field('pane_pid')),
    paneId: field('@svc_pane'),
    paneIndex: Number(field('pane_index')),
    active: field('pane_active') === '1',
    cols: Number(field('pane_width')),
    rows: Number(field('pane_height')),
    dead: field('pane_dead') === '1',
    exit: exitOf(field('pane_dead_status'), field('pane_dead_signal')),
    inMode: field('pane_in_mode') !== '0',
    command: field('s|\t| |:pane_current_command'),
    // A shell that has not begun yet is nowhere; it will be where it was sent.
    cwd: field('s|\t| |:pane_current_path') || field('s|\t| |:pane_start_path'),
    paneTitle: fields.slice(fieldNames.indexOf('pane_title')).join(' '),
  }
}

/** As shells count: a signal is 128 and its number. Neither is there for a moment after the end. */
function exitOf(status: string, signal: string): number | null {
  if (status !== '') return Number(status)
  return signal === '' ? null : 128 + Number(signal)
}

/**
 * tmux before 3.5 misses the signal of a child that ends while libutempter has the handler: the pane is dead and what it
 * ended with stays unread. The signal once more has it read; the next listing knows it.
 */
function remindOfChildren(serverPid: number): void {
  if (serverPid <= 1) return
  try {
    process.kill(serverPid, 'SIGCHLD')
  } catch {
    // The server has just ended, and its panes with it.
  }
}

function toPane(row: Row): Pane {
  const { paneId: id, workspaceId, paneIndex: index, paneTitle: title, command, cwd, cols, rows, dead, exit } = row
  return { id, workspaceId, index, title, command, cwd, cols, rows, focused: row.shown && row.active, dead, exit }
}
