/** The commands of `svc workspace`. Only `focus`, `next`, `previous` and `last` move the user's focus. */
import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { createUsageFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { sanitizeLine } from '../terminal/sanitize-text.ts'
import type { BrowserPage, Pane, Workspace } from '../workbench/protocol/results.ts'
import { resolveWorkspaceId } from './connection/resolve-id.ts'
import { formatFocus, formatPaneTable } from './pane.ts'
import { withWorkbench } from './connection/with-workbench.ts'

export const list: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('workspace.list', {})
    context.printResult(result, () => formatWorkspaceTable(context, result.workspaces))
  })

export const create: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('workspace.create', {
      title: options.requireText('title'),
      cwd: resolve(options.getText('cwd') ?? '.'),
      command: options.getText('command'),
      env: parseKeyValues(options.getList('env')),
    })
    context.printResult(result, () => `${result.workspace.id}  ${result.pane.id}  ${sanitizeLine(result.workspace.title)}`)
  })

export const rename: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const id = await resolveWorkspaceId(client, args.requireText('workspace'))
    const result = await client.call('workspace.rename', { id, title: options.requireText('title') })
    context.printResult(result, () => `${result.workspace.id}  ${sanitizeLine(result.workspace.title)}`)
  })

export const close: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const id = await resolveWorkspaceId(client, args.requireText('workspace'))
    context.printResult(await client.call('workspace.close', { id, force: options.getFlag('force') }), () => '')
  })

export const show: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.getText('workspace')
    const result = await client.call('workspace.show', { id: word && (await resolveWorkspaceId(client, word)) })
    context.printResult(result, () => formatWorkspace(context, result.workspace, result.panes, result.pages))
  })

export const focus: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const { focused } = await client.call('workspace.focus', {
      id: await resolveWorkspaceId(client, args.requireText('workspace')),
    })
    context.printResult({ focused }, () => formatFocus(focused))
  })

export const next: CommandHandler = (context) => switchWorkspace(context, 'workspace.next')
export const previous: CommandHandler = (context) => switchWorkspace(context, 'workspace.previous')
export const last: CommandHandler = (context) => switchWorkspace(context, 'workspace.last')

function formatWorkspaceTable(context: Context, workspaces: readonly Workspace[]): string {
  return drawTable(context, workspaces, [
    { heading: '#', cell: (workspace) => `${workspace.index}${workspace.focused ? '*' : ''}` },
    { heading: 'ID', cell: (workspace) => workspace.id },
    { heading: context.localize({ en: 'TITLE', zh: '标题' }), cell: (workspace) => sanitizeLine(workspace.title) },
    { heading: context.localize({ en: 'KIND', zh: '类型' }), cell: (workspace) => workspace.kind, drop: 2 },
    { heading: context.localize({ en: 'PANES', zh: '窗格' }), align: 'right', cell: (workspace) => String(workspace.paneCount) },
    {
      heading: context.localize({ en: 'UNREAD', zh: '未读' }),
      align: 'right',
      cell: (workspace) => String(workspace.unread),
      drop: 1,
    },
    { heading: context.localize({ en: 'DIRECTORY', zh: '目录' }), cell: (workspace) => sanitizeLine(workspace.cwd), drop: 3 },
  ])
}

function switchWorkspace(
  context: Context,
  method: 'workspace.next' | 'workspace.previous' | 'workspace.last',
): ReturnType<CommandHandler> {
  return withWorkbench(context, async (client) => {
    const { focused } = await client.call(method, {})
    context.printResult({ focused }, () => formatFocus(focused))
  })
}

/** Parses `--env NAME=value`, given any number of times. */
function parseKeyValues(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at < 1)
        throw createUsageFailure({
          en: `--env takes NAME=value, not '${word}'.`,
          zh: `--env 的格式为 NAME=value，而不是“${word}”。`,
        })
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}

function formatWorkspace(context: Context, workspace: Workspace, panes: readonly Pane[], pages: readonly BrowserPage[]): string {
  const pageLines = pages.map((page) => `${page.id}  ${sanitizeLine(page.url)}  ${sanitizeLine(page.title)}`)
  return [
    formatWorkspaceTable(context, [workspace]),
    '',
    formatPaneTable(context, panes),
    ...(pageLines.length === 0 ? [] : ['', ...pageLines]),
  ].join('\n')
}
