/** Shows the workbench in this terminal. It is a focus command: with a workspace's name it brings that one to the front. */
import { spawn } from 'node:child_process'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure, createUsageFailure } from '../failure.ts'
import { rememberNotices } from '../service-commands/client/notices.ts'
import { readNewNotices } from '../service-commands/client/service-client.ts'
import { readSite } from '../service-commands/client/site.ts'
import { resolveWorkspaceId } from './connection/resolve-id.ts'
import { getWorkbenchPaths } from './connection/workbench-paths.ts'
import type { WorkbenchClient } from './connection/workbench-client.ts'
import { withWorkbench } from './connection/with-workbench.ts'

export const run: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.getText('workspace')
    if (!context.stdout.isTerminal)
      throw createUsageFailure({ en: 'svc attach needs a terminal.', zh: 'svc attach 需要在终端中运行。' })
    if (getWorkbenchPaths(context).caller !== null) {
      throw createUsageFailure({ en: 'This terminal is a pane of the workbench already.', zh: '此终端已是工作台的窗格。' }, [
        'svc workspace focus <id>',
      ])
    }
    const { attach } = client.hello.engine
    if (attach === null) {
      throw new CommandFailure(
        'engine_unavailable',
        { en: 'The workbench has no terminal to show.', zh: '工作台没有可显示的终端。' },
        { hints: ['svc workbench doctor'] },
      )
    }
    if (word !== undefined) await client.call('workspace.focus', { id: await resolveWorkspaceId(client, word) })
    // Listing the workspaces starts the session that is shown, if no other call has started it yet.
    else await client.call('workspace.list', {})
    void announceNotices(context, client).finally(() => client.close())
    const [program = '', ...words] = attach
    // A multiplexer refuses to run inside another one unless these variables are unset.
    const { TMUX: _outer, ...env } = context.environment.variables
    const child = spawn(program, words, { env, stdio: 'inherit' })
    const code = await new Promise<number>((resolve) => {
      child.once('error', () => resolve(1))
      child.once('close', (ended) => resolve(ended ?? 1))
    })
    return code === 0 ? 0 : 1
  })

/** Each new notice of the service is a notification, whose line stands in the status line; the terminal is shown meanwhile. */
async function announceNotices(context: Context, client: WorkbenchClient): Promise<void> {
  try {
    const site = readSite(context)
    const notices = await readNewNotices(context, site)
    for (const { heading, text } of notices) await client.call('notification.create', { title: heading, body: text })
    rememberNotices(context, site, notices)
  } catch {
    // The workbench works without the service.
  }
}
