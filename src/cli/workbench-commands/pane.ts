/** The commands of `svc pane`. Only `focus` and `last` move the user's focus. */
import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { createUsageFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { sanitizeLine, sanitizeText } from '../terminal/sanitize-text.ts'
import type { ParsedValues } from '../../command-table/parsed-values.ts'
import type { Focus, Pane } from '../workbench/protocol/results.ts'
import type { WorkbenchClient } from './connection/workbench-client.ts'
import { resolvePaneId, resolveWorkspaceId } from './connection/resolve-id.ts'
import { readTextOrStdin } from '../read-stdin.ts'
import { withWorkbench } from './connection/with-workbench.ts'

export const list: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.getText('workspace')
    const result = await client.call('pane.list', {
      all: options.getFlag('all'),
      workspaceId: workspace && (await resolveWorkspaceId(client, workspace)),
    })
    context.printResult(result, () => formatPaneTable(context, result.panes))
  })

export const split: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const cwd = options.getText('cwd')
    const result = await client.call('pane.split', {
      ...(await resolveTarget(client, options)),
      direction: parseDirection(options.getText('direction') ?? 'right'),
      size: options.getNumber('size'),
      cwd: cwd === undefined ? undefined : resolve(cwd),
      command: options.getText('command'),
    })
    context.printResult(result, () => result.pane.id)
  })

export const close: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const paneId = await resolvePaneId(client, args.requireText('pane'))
    context.printResult(await client.call('pane.close', { paneId, force: options.getFlag('force') }), () => '')
  })

export const resize: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('pane.resize', {
      ...(await resolveTarget(client, options)),
      cols: options.getNumber('cols'),
      rows: options.getNumber('rows'),
    })
    context.printResult(result, () => `${result.pane.id}  ${result.pane.cols}x${result.pane.rows}`)
  })

export const send: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const text = await readTextOrStdin(context, args.requireText('text'))
    const enter = options.getFlag('enter') ? '\n' : ''
    context.printResult(
      await client.call('pane.send', { ...(await resolveTarget(client, options)), text: text + enter }),
      () => '',
    )
  })

export const key: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    context.printResult(
      await client.call('pane.key', { ...(await resolveTarget(client, options)), key: args.requireText('key') }),
      () => '',
    )
  })

export const read: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('pane.read', {
      ...(await resolveTarget(client, options)),
      lines: options.getNumber('lines'),
    })
    context.printResult(result, () => sanitizeText(result.text))
  })

export const focus: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const word = args.getText('pane')
    const way = options.getText('direction')
    if ((word === undefined) === (way === undefined)) {
      throw createUsageFailure({ en: 'Name a pane, or a --direction.', zh: '请指定窗格或 --direction。' })
    }
    const params = word === undefined ? { direction: parseDirection(way ?? '') } : { paneId: await resolvePaneId(client, word) }
    const { focused } = await client.call('pane.focus', params)
    context.printResult({ focused }, () => formatFocus(focused))
  })

export const last: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const { focused } = await client.call('pane.last', {})
    context.printResult({ focused }, () => formatFocus(focused))
  })

export function formatPaneTable(context: Context, panes: readonly Pane[]): string {
  return drawTable(context, panes, [
    { heading: '#', cell: (pane) => `${pane.index}${pane.focused ? '*' : ''}` },
    { heading: 'ID', cell: (pane) => pane.id },
    { heading: context.localize({ en: 'WORKSPACE', zh: '工作区' }), cell: (pane) => pane.workspaceId, drop: 2 },
    { heading: context.localize({ en: 'SIZE', zh: '大小' }), cell: (pane) => `${pane.cols}x${pane.rows}`, drop: 1 },
    {
      heading: context.localize({ en: 'COMMAND', zh: '命令' }),
      cell: (pane) =>
        pane.dead ? `${context.localize({ en: 'ended', zh: '已结束' })} (${pane.exit ?? '?'})` : sanitizeLine(pane.command),
    },
    { heading: context.localize({ en: 'DIRECTORY', zh: '目录' }), cell: (pane) => sanitizeLine(pane.cwd), drop: 3 },
  ])
}

/** `--pane` and `--workspace` as ids; without either the workbench takes the caller's own pane. */
async function resolveTarget(
  client: WorkbenchClient,
  options: ParsedValues,
): Promise<{ paneId?: string; workspaceId?: string | undefined }> {
  const workspace = options.getText('workspace')
  const pane = options.getText('pane')
  const workspaceId = workspace && (await resolveWorkspaceId(client, workspace))
  return pane === undefined ? { workspaceId } : { paneId: await resolvePaneId(client, pane, workspaceId) }
}

function parseDirection(word: string): 'right' | 'left' | 'up' | 'down' {
  if (word === 'right' || word === 'left' || word === 'up' || word === 'down') return word
  throw createUsageFailure({ en: 'A direction is right, left, up or down.', zh: '方向为 right、left、up 或 down。' })
}

/** Formats the focus on one line: workspace and pane. */
export function formatFocus(focused: Focus): string {
  return `${focused.workspaceId ?? '-'}  ${focused.paneId ?? '-'}`
}
