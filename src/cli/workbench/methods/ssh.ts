/** The methods `ssh.…`: call `ssh/connections.ts` with the workspace and pane of a connection. */
import type { Family, Handlers } from './handler.ts'
import type { Workbench } from '../workbench.ts'
import { getPane, toWorkspace, getWorkspace } from '../workbench.ts'

export function createSshMethods(bench: Workbench): Handlers<Family<'ssh'>> {
  const { ssh } = bench
  return {
    'ssh.connect': async ({ params }) => {
      const connection = await ssh.connect(params)
      return {
        ssh: connection,
        workspace: toWorkspace(bench, await getWorkspace(bench, connection.workspaceId)),
        pane: await getPane(bench, connection.paneId),
      }
    },
    'ssh.list': async () => ({ connections: ssh.list() }),
    'ssh.status': async ({ params }) => ({ ssh: ssh.get(params.sshId) }),
    'ssh.disconnect': async ({ params }) => ({ ssh: await ssh.disconnect(params.sshId) }),
    'ssh.reconnect': async ({ params }) => ({ ssh: await ssh.reconnect(params.sshId) }),
  }
}
