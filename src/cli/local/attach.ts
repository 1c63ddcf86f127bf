/** Shows the workbench in this terminal. It is a focus command: naming a workspace brings that one to the front. */
import { spawn } from 'node:child_process'
import type { Run } from '../command.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { pickWorkspace } from './pick.ts'
import { placeOf } from './place.ts'
import { withWorkbench } from './session.ts'

export const run: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.text('workspace')
    if (!context.stdout.isTerminal)
      throw usageFailure({ en: 'svc attach needs a terminal.', zh: 'svc attach 需要在终端中运行。' })
    if (placeOf(context).caller !== null) {
      throw usageFailure({ en: 'This terminal is a pane of the workbench already.', zh: '此终端已是工作台的窗格。' }, [
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
    if (word !== undefined) await client.call('workspace.focus', { id: await pickWorkspace(client, word) })
    // Asking for the list brings up what is shown, should nothing have needed it yet.
    else await client.call('workspace.list', {})
    client.close()
    const [program = '', ...words] = attach
    // A multiplexer refuses to show itself within another one unless it does not see it.
    const { TMUX: _outer, ...env } = context.environment.variables
    const child = spawn(program, words, { env, stdio: 'inherit' })
    const code = await new Promise<number>((resolve) => {
      child.once('error', () => resolve(1))
      child.once('close', (ended) => resolve(ended ?? 1))
    })
    return code === 0 ? 0 : 1
  })
