/** The files of the workbench of this command line, and the pane that calls it. */
import { homedir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../../context.ts'
import type { Focus } from '../../workbench/protocol/results.ts'
import { resolveSocketPath } from './socket-path.ts'

export interface WorkbenchPaths {
  readonly socketPath: string
  readonly runDir: string
  readonly stateDir: string
  /** The pane this command runs in, if it belongs to the workbench. */
  readonly caller: Focus | null
}

export function getWorkbenchPaths(context: Context): WorkbenchPaths {
  const { variables, platform, home } = context.environment
  const input = { env: variables, home, user: getUserName(), platform }
  const standard = resolveSocketPath({ ...input, env: { ...variables, SVC_SOCKET: undefined } })
  const socketPath = resolveSocketPath({ ...input, option: context.socketPath })
  const runDir = platform === 'win32' ? join(home, '.local', 'state', 'svc', 'run') : dirname(socketPath)
  const standardState = join(variables['XDG_STATE_HOME'] || join(home, '.local', 'state'), 'svc')
  const workspaceId = variables['SVC_WORKSPACE_ID'] || null
  return {
    socketPath,
    runDir,
    // Two workbenches must not write the same files: one on its own socket keeps its files beside it.
    stateDir: socketPath === standard ? standardState : join(runDir, 'workbench-state'),
    caller: workspaceId === null ? null : { workspaceId, paneId: variables['SVC_PANE_ID'] || null },
  }
}

function getUserName(): string {
  try {
    return userInfo().username
  } catch {
    return homedir() // an account without a name, in some containers
  }
}
