/** The tmux commands that create and name windows and panes. Ids and titles are stored in options, which tmux does not expand. */
import type { NewWorkspace } from '../engine/terminal-engine.ts'
import type { TmuxCommand } from './control.ts'
import { encodeOptionValue, toStatusLabel, escapeFormat } from './quoting.ts'

/** The environment variables that name a program's own workspace and pane. */
export interface PaneIdentity {
  readonly socketPath: string
  readonly workspaceId: string
  readonly paneId: string
}

/** The arguments that a new window and a new session have in common. */
export function newWindowArgs(wish: NewWorkspace, identity: PaneIdentity): string[] {
  return [
    '-n',
    escapeFormat(toStatusLabel(wish.title)),
    '-c',
    escapeFormat(wish.cwd),
    ...environmentArgs(identity, wish.env),
    ...(wish.argv ? ['--', ...toProgramArgs(wish.argv)] : []),
  ]
}

export function environmentArgs({ socketPath, workspaceId, paneId }: PaneIdentity, extra: NewWorkspace['env'] = {}): string[] {
  const env = { ...extra, SVC_SOCKET: socketPath, SVC_WORKSPACE_ID: workspaceId, SVC_PANE_ID: paneId, TERM_PROGRAM: 'svc' }
  return Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
}

export function tagCommands(target: string, workspaceId: string, paneId: string, wish: NewWorkspace): TmuxCommand[] {
  return [
    ['set-option', '-w', '-t', target, '@svc_ws', workspaceId],
    ['set-option', '-p', '-t', target, '@svc_pane', paneId],
    ['set-option', '-w', '-t', target, '@svc_title', encodeOptionValue(wish.title)],
    ['set-option', '-w', '-F', '-t', target, '@svc_named', '#{window_name}'],
    ...(wish.metadata === undefined
      ? []
      : ([['set-option', '-w', '-t', target, '@svc_kept', encodeOptionValue(wish.metadata)]] satisfies TmuxCommand[])),
    ...(wish.argv ? ([['set-option', '-w', '-t', target, 'remain-on-exit', 'on']] satisfies TmuxCommand[]) : []),
  ]
}

export function titleCommands(windowId: string, title: string): [TmuxCommand, ...TmuxCommand[]] {
  return [
    ['rename-window', '-t', windowId, '--', escapeFormat(toStatusLabel(title))],
    ['set-option', '-w', '-t', windowId, '@svc_title', encodeOptionValue(title)],
    ['set-option', '-w', '-F', '-t', windowId, '@svc_named', '#{window_name}'],
  ]
}

/** tmux passes a single argument to a shell and runs two or more directly. `env` turns one into two. */
export function toProgramArgs(argv: readonly string[]): readonly string[] {
  return argv.length === 1 ? ['env', ...argv] : argv
}
