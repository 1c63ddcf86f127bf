/** What tmux is told when windows and panes are made and named. Ids and titles are kept in options, which tmux does not expand. */
import type { NewWorkspace } from '../engine.ts'
import type { TmuxCommand } from './control.ts'
import { kept, label, literal } from './text.ts'

/** What a program in a pane is told of where it runs. */
export interface PanePlace {
  readonly socketPath: string
  readonly workspaceId: string
  readonly paneId: string
}

/** The arguments that a new window and a new session have in common. */
export function birth(wish: NewWorkspace, place: PanePlace): string[] {
  return [
    '-n',
    literal(label(wish.title)),
    '-c',
    literal(wish.cwd),
    ...environment(place, wish.env),
    ...(wish.argv ? ['--', ...asArguments(wish.argv)] : []),
  ]
}

export function environment({ socketPath, workspaceId, paneId }: PanePlace, wished: NewWorkspace['env'] = {}): string[] {
  const env = { ...wished, SVC_SOCKET: socketPath, SVC_WORKSPACE_ID: workspaceId, SVC_PANE_ID: paneId, TERM_PROGRAM: 'svc' }
  return Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
}

export function naming(target: string, workspaceId: string, paneId: string, wish: NewWorkspace): TmuxCommand[] {
  return [
    ['set-option', '-w', '-t', target, '@svc_ws', workspaceId],
    ['set-option', '-p', '-t', target, '@svc_pane', paneId],
    ['set-option', '-w', '-t', target, '@svc_title', kept(wish.title)],
    ['set-option', '-w', '-F', '-t', target, '@svc_named', '#{window_name}'],
    ...(wish.kept === undefined
      ? []
      : ([['set-option', '-w', '-t', target, '@svc_kept', kept(wish.kept)]] satisfies TmuxCommand[])),
    ...(wish.argv ? ([['set-option', '-w', '-t', target, 'remain-on-exit', 'on']] satisfies TmuxCommand[]) : []),
  ]
}

export function titling(windowId: string, title: string): [TmuxCommand, ...TmuxCommand[]] {
  return [
    ['rename-window', '-t', windowId, '--', literal(label(title))],
    ['set-option', '-w', '-t', windowId, '@svc_title', kept(title)],
    ['set-option', '-w', '-F', '-t', windowId, '@svc_named', '#{window_name}'],
  ]
}

/** tmux gives a single argument to a shell; two or more are run as they are. `env` makes one into two. */
export function asArguments(argv: readonly string[]): readonly string[] {
  return argv.length === 1 ? ['env', ...argv] : argv
}
