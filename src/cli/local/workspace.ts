/** The commands of `svc workspace`. Only `focus`, `next`, `previous` and `last` move what the user is looking at. */
import { resolve } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { usageFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import type { BrowserPage, Pane, Workspace } from '../workbench/results.ts'
import { focusLine } from './focus-line.ts'
import { pickWorkspace } from './pick.ts'
import { paneTable } from './pane.ts'
import { withWorkbench } from './session.ts'

export const list: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('workspace.list', {})
    context.result(result, () => workspaceTable(context, result.workspaces))
  })

export const create: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('workspace.create', {
      title: options.need('title'),
      cwd: resolve(options.text('cwd') ?? '.'),
      command: options.text('command'),
      env: keyValues(options.list('env')),
    })
    context.result(result, () => `${result.workspace.id}  ${result.pane.id}  ${terminalLine(result.workspace.title)}`)
  })

export const rename: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const id = await pickWorkspace(client, args.need('workspace'))
    const result = await client.call('workspace.rename', { id, title: options.need('title') })
    context.result(result, () => `${result.workspace.id}  ${terminalLine(result.workspace.title)}`)
  })

export const close: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const id = await pickWorkspace(client, args.need('workspace'))
    context.result(await client.call('workspace.close', { id, force: options.flag('force') }), () => '')
  })

export const show: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.text('workspace')
    const result = await client.call('workspace.show', { id: word && (await pickWorkspace(client, word)) })
    context.result(result, () => describe(context, result.workspace, result.panes, result.pages))
  })

export const focus: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const { focused } = await client.call('workspace.focus', { id: await pickWorkspace(client, args.need('workspace')) })
    context.result({ focused }, () => focusLine(focused))
  })

export const next: Run = (context) => step(context, 'workspace.next')
export const previous: Run = (context) => step(context, 'workspace.previous')
export const last: Run = (context) => step(context, 'workspace.last')

function workspaceTable(context: Context, workspaces: readonly Workspace[]): string {
  return toTable(workspaces, [
    { heading: '#', cell: (workspace) => `${workspace.index}${workspace.focused ? '*' : ''}` },
    { heading: 'ID', cell: (workspace) => workspace.id },
    { heading: context.say({ en: 'TITLE', zh: '标题' }), cell: (workspace) => terminalLine(workspace.title) },
    { heading: context.say({ en: 'KIND', zh: '类型' }), cell: (workspace) => workspace.kind },
    { heading: context.say({ en: 'PANES', zh: '窗格' }), align: 'right', cell: (workspace) => String(workspace.paneCount) },
    { heading: context.say({ en: 'UNREAD', zh: '未读' }), align: 'right', cell: (workspace) => String(workspace.unread) },
    { heading: context.say({ en: 'DIRECTORY', zh: '目录' }), cell: (workspace) => terminalLine(workspace.cwd) },
  ])
}

function step(context: Context, method: 'workspace.next' | 'workspace.previous' | 'workspace.last'): ReturnType<Run> {
  return withWorkbench(context, async (client) => {
    const { focused } = await client.call(method, {})
    context.result({ focused }, () => focusLine(focused))
  })
}

/** `--env NAME=value` given any number of times. */
function keyValues(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at < 1)
        throw usageFailure({ en: `--env takes NAME=value, not '${word}'.`, zh: `--env 的格式为 NAME=value,而不是“${word}”。` })
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}

function describe(context: Context, workspace: Workspace, panes: readonly Pane[], pages: readonly BrowserPage[]): string {
  const pageLines = pages.map((page) => `${page.id}  ${terminalLine(page.url)}  ${terminalLine(page.title)}`)
  return [
    workspaceTable(context, [workspace]),
    '',
    paneTable(context, panes),
    ...(pageLines.length === 0 ? [] : ['', ...pageLines]),
  ].join('\n')
}
