/** The commands of `svc pane`. Only `focus` and `last` move what the user is looking at. */
import { resolve } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { usageFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import type { Values } from '../values.ts'
import type { Pane } from '../workbench/results.ts'
import type { WorkbenchClient } from './client.ts'
import { pickPane, pickWorkspace } from './pick.ts'
import { textOrInput } from './read-input.ts'
import { withWorkbench } from './session.ts'
import { focusLine } from './focus-line.ts'

export const list: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.text('workspace')
    const result = await client.call('pane.list', {
      all: options.flag('all'),
      workspaceId: workspace && (await pickWorkspace(client, workspace)),
    })
    context.result(result, () => paneTable(context, result.panes))
  })

export const split: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const cwd = options.text('cwd')
    const result = await client.call('pane.split', {
      ...(await targetOf(client, options)),
      direction: direction(options.text('direction') ?? 'right'),
      size: options.number('size'),
      cwd: cwd === undefined ? undefined : resolve(cwd),
      command: options.text('command'),
    })
    context.result(result, () => result.pane.id)
  })

export const close: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const paneId = await pickPane(client, args.need('pane'))
    context.result(await client.call('pane.close', { paneId, force: options.flag('force') }), () => '')
  })

export const resize: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('pane.resize', {
      ...(await targetOf(client, options)),
      cols: options.number('cols'),
      rows: options.number('rows'),
    })
    context.result(result, () => `${result.pane.id}  ${result.pane.cols}x${result.pane.rows}`)
  })

export const send: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const text = await textOrInput(context, args.need('text'))
    const enter = options.flag('enter') ? '\n' : ''
    context.result(await client.call('pane.send', { ...(await targetOf(client, options)), text: text + enter }), () => '')
  })

export const key: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    context.result(await client.call('pane.key', { ...(await targetOf(client, options)), key: args.need('key') }), () => '')
  })

export const read: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('pane.read', { ...(await targetOf(client, options)), lines: options.number('lines') })
    context.result(result, () => terminalText(result.text))
  })

export const focus: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const word = args.text('pane')
    const way = options.text('direction')
    if ((word === undefined) === (way === undefined)) {
      throw usageFailure({ en: 'Name a pane, or a --direction.', zh: '请指定窗格或 --direction。' })
    }
    const params = word === undefined ? { direction: direction(way ?? '') } : { paneId: await pickPane(client, word) }
    const { focused } = await client.call('pane.focus', params)
    context.result({ focused }, () => focusLine(focused))
  })

export const last: Run = (context) =>
  withWorkbench(context, async (client) => {
    const { focused } = await client.call('pane.last', {})
    context.result({ focused }, () => focusLine(focused))
  })

export function paneTable(context: Context, panes: readonly Pane[]): string {
  return toTable(panes, [
    { heading: '#', cell: (pane) => `${pane.index}${pane.focused ? '*' : ''}` },
    { heading: 'ID', cell: (pane) => pane.id },
    { heading: context.say({ en: 'WORKSPACE', zh: '工作区' }), cell: (pane) => pane.workspaceId },
    { heading: context.say({ en: 'SIZE', zh: '大小' }), cell: (pane) => `${pane.cols}x${pane.rows}` },
    {
      heading: context.say({ en: 'COMMAND', zh: '命令' }),
      cell: (pane) =>
        pane.dead ? `${context.say({ en: 'ended', zh: '已结束' })} (${pane.exit ?? '?'})` : terminalLine(pane.command),
    },
    { heading: context.say({ en: 'DIRECTORY', zh: '目录' }), cell: (pane) => terminalLine(pane.cwd) },
  ])
}

/** `--pane` and `--workspace`, as ids; where neither is given the workbench takes the caller's own pane. */
async function targetOf(
  client: WorkbenchClient,
  options: Values,
): Promise<{ paneId?: string; workspaceId?: string | undefined }> {
  const workspace = options.text('workspace')
  const pane = options.text('pane')
  const workspaceId = workspace && (await pickWorkspace(client, workspace))
  return pane === undefined ? { workspaceId } : { paneId: await pickPane(client, pane, workspaceId) }
}

function direction(word: string): 'right' | 'left' | 'up' | 'down' {
  if (word === 'right' || word === 'left' || word === 'up' || word === 'down') return word
  throw usageFailure({ en: 'A direction is right, left, up or down.', zh: '方向为 right、left、up 或 down。' })
}
