/** The methods `ssh.…`: what `ssh/connections.ts` does, with the workspace and pane that a connection stands in. */
import type { Family, Handlers } from '../handler.ts'
import type { Workbench } from '../workbench.ts'
import { paneById, toWorkspace, workspaceById } from '../workbench.ts'

export function sshMethods(bench: Workbench): Handlers<Family<'ssh'>> {
  const { ssh } = bench
  return {
    'ssh.connect': async ({ params }) => {
      const connection = await ssh.connect(params)
      return {
        ssh: connection,
        workspace: toWorkspace(bench, await workspaceById(bench, connection.workspaceId)),
        pane: await paneById(bench, connection.paneId),
      }
    },
    'ssh.list': async () => ({ connections: ssh.list() }),
    'ssh.status': async ({ params }) => ({ ssh: ssh.get(params.sshId) }),
    'ssh.disconnect': async ({ params }) => ({ ssh: await ssh.disconnect(params.sshId) }),
    'ssh.reconnect': async ({ params }) => ({ ssh: await ssh.reconnect(params.sshId) }),
  }
}
