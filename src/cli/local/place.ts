/** Where the workbench of this command line is, and from where it is called. */
import { homedir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import type { Focus } from '../workbench/results.ts'
import { socketPath } from './socket-path.ts'

export interface Place {
  readonly socketPath: string
  readonly runDir: string
  readonly stateDir: string
  /** The pane this command runs in, if it is one of the workbench's. */
  readonly caller: Focus | null
}

export function placeOf(context: Context): Place {
  const { variables, platform, home } = context.environment
  const input = { env: variables, home, user: userName(), platform }
  const standard = socketPath({ ...input, env: { ...variables, SVC_SOCKET: undefined } })
  const chosen = socketPath({ ...input, option: context.socketPath })
  const runDir = platform === 'win32' ? join(home, '.local', 'state', 'svc', 'run') : dirname(chosen)
  const standardState = join(variables['XDG_STATE_HOME'] || join(home, '.local', 'state'), 'svc')
  const workspaceId = variables['SVC_WORKSPACE_ID'] || null
  return {
    socketPath: chosen,
    runDir,
    // Two workbenches must not write the same files: one on a socket of its own keeps them beside it.
    stateDir: chosen === standard ? standardState : join(runDir, 'workbench-state'),
    caller: workspaceId === null ? null : { workspaceId, paneId: variables['SVC_PANE_ID'] || null },
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return homedir() // an account without a name, in some containers
  }
}
