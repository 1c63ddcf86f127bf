/** The commands of the workbench as a whole: start, stop, status, and calls of its protocol by hand. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import { CommandFailure, createUsageFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { fitLines } from '../terminal/fit-lines.ts'
import { sanitizeLine, sanitizeText } from '../terminal/sanitize-text.ts'
import { createUnreachableFailure } from './connection/workbench-client.ts'
import { launchInForeground } from './connection/launch-workbench.ts'
import { getWorkbenchPaths } from './connection/workbench-paths.ts'
import { connectIfRunning, withWorkbench } from './connection/with-workbench.ts'
import { parseJson } from '../../system/parse-json.ts'

export const start: CommandHandler = async (context, _args, options) => {
  if (options.getFlag('foreground')) return (await launchInForeground(context, getWorkbenchPaths(context))) === 0 ? 0 : 1
  return withWorkbench(context, async (client) => {
    const { app, engine } = client.hello
    context.printResult({ app, engine, socket: getWorkbenchPaths(context).socketPath }, () =>
      context.localize({
        en: `The workbench runs (pid ${app.pid}). Look at it: svc attach`,
        zh: `工作台正在运行（pid ${app.pid}）。查看：svc attach`,
      }),
    )
  })
}

export const stop: CommandHandler = async (context, _args, options) => {
  const client = await connectIfRunning(context)
  if (!client) {
    context.printResult({ stopped: false }, () =>
      context.localize({ en: 'The workbench was not running.', zh: '工作台未在运行。' }),
    )
    return
  }
  await client.call('app.shutdown', { killSessions: options.getFlag('kill') })
  await client.closed
  context.printResult({ stopped: true }, () =>
    options.getFlag('kill')
      ? context.localize({ en: 'Stopped, and everything in its panes ended.', zh: '已停止，窗格中的程序均已结束。' })
      : context.localize({ en: 'Stopped. What runs in its panes runs on.', zh: '已停止。窗格中的程序继续运行。' }),
  )
}

export const status: CommandHandler = async (context) => {
  const client = await connectIfRunning(context)
  if (!client) throw createUnreachableFailure('it is not running')
  try {
    const { app, engine, protocol } = client.hello
    const socket = getWorkbenchPaths(context).socketPath
    context.printResult({ app, engine, protocol, socket }, () =>
      [
        `svc-workbench ${app.version}  pid ${app.pid}`,
        `${context.localize({ en: 'terminal', zh: '终端' })}  ${engine.terminal ?? '-'}`,
        `${context.localize({ en: 'browser', zh: '浏览器' })}  ${engine.browser ?? context.localize({ en: 'not started', zh: '未启动' })}`,
        `${context.localize({ en: 'socket', zh: '套接字' })}  ${sanitizeLine(socket)}`,
      ].join('\n'),
    )
  } finally {
    client.close()
  }
}

export const doctor: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.doctor', {})
    context.printResult(result, () =>
      drawTable(context, result.checks, [
        { heading: '', cell: (check) => (check.ok ? 'ok' : context.localize({ en: 'MISSING', zh: '缺少' })) },
        { heading: context.localize({ en: 'PROGRAM', zh: '程序' }), cell: (check) => check.name },
        { heading: context.localize({ en: 'FOR', zh: '用途' }), cell: (check) => check.needed, drop: 1 },
        {
          heading: context.localize({ en: 'FOUND, OR HOW TO INSTALL', zh: '版本或安装方法' }),
          cell: (check) => sanitizeLine(check.found ?? check.hint ?? ''),
        },
      ]),
    )
    return result.checks.every((check) => check.ok) ? exitCodes.ok.code : exitCodes.failed.code
  })

/** Prints the end of the log. It holds methods, durations and codes, never typed or displayed text. */
export const logs: CommandHandler = async (context, _args, options) => {
  const path = join(getWorkbenchPaths(context).stateDir, 'workbench.log')
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new CommandFailure('not_found', { en: 'There is no log yet.', zh: '尚无日志。' }, { exit: 'notFound', cause })
  })
  try {
    const { size } = await file.stat()
    const buffer = Buffer.alloc(Math.min(size, 256 * 1024))
    await file.read(buffer, 0, buffer.length, size - buffer.length)
    const all = buffer
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
    const lines = all.slice(Math.max(0, all.length - (options.getNumber('lines') ?? 50)))
    context.printResult({ path, lines }, () => sanitizeText(lines.join('\n')))
  } finally {
    await file.close()
  }
}

export const tree: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.tree', {})
    context.printResult(result, () =>
      fitLines(
        context.stdout,
        result.workspaces
          .flatMap((workspace) => [
            `${workspace.index}${workspace.focused ? '*' : ' '} ${workspace.id}  ${sanitizeLine(workspace.title)}${workspace.unread === 0 ? '' : `  (${workspace.unread})`}`,
            ...workspace.panes.map(
              (pane) =>
                `    ${pane.index}${pane.focused ? '*' : ' '} ${pane.id}  ${sanitizeLine(pane.command)}  ${sanitizeLine(pane.cwd)}`,
            ),
            ...workspace.pages.map((page) => `      ${page.id}  ${sanitizeLine(page.url)}`),
          ])
          .join('\n'),
      ),
    )
  })

export const identify: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.identify', {})
    context.printResult(result, () =>
      [
        `${context.localize({ en: 'in front', zh: '当前' })}  ${result.focused.workspaceId ?? '-'}  ${result.focused.paneId ?? '-'}`,
        `${context.localize({ en: 'caller', zh: '调用者' })}  ${result.caller?.workspaceId ?? '-'}  ${result.caller?.paneId ?? '-'}`,
      ].join('\n'),
    )
  })

export const capabilities: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.capabilities', {})
    const focus = new Set(result.focus)
    context.printResult(result, () =>
      drawTable(context, result.capabilities, [
        { heading: context.localize({ en: 'method', zh: '方法' }), cell: (method) => method },
        { heading: context.localize({ en: 'focus', zh: '焦点' }), cell: (method) => (focus.has(method) ? 'moves' : '') },
        {
          heading: context.localize({ en: 'what it does', zh: '作用' }),
          // A host of an earlier version has no summaries.
          cell: (method) => (result.summaries as typeof result.summaries | undefined)?.[method] ?? '',
        },
      ]),
    )
  })

export const events: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const names = options.getList('name')
    client.onEvent((event) => {
      if (context.json) context.printEvent(event)
      else context.stdout.write(`${event.seq}  ${event.name}  ${sanitizeText(JSON.stringify(event.data))}\n`)
    })
    const params = { names: names.length === 0 ? undefined : names, after: options.getNumber('after') }
    const { gap } = (await client.callUntyped('events.subscribe', params)) as { readonly gap: boolean }
    if (gap) context.printNote({ en: 'Some events in between are no longer kept.', zh: '其间的部分事件已不再保留。' })
    await client.closed
    if (!context.signal.aborted) throw createUnreachableFailure('the workbench has closed the connection')
    return exitCodes.interrupted.code
  })

export const rpc: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.callUntyped(args.requireText('method'), parseParams(args.getText('params') ?? '{}'))
    context.printResult(result, () => sanitizeText(JSON.stringify(result, null, 2)))
  })

function parseParams(text: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw createUsageFailure({ en: `The parameters are not JSON: ${String(cause)}`, zh: `参数不是有效的 JSON：${String(cause)}` })
  }
}
