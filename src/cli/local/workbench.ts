/** The commands about the workbench as a whole: starting and ending it, looking at it, and speaking its protocol by hand. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Run } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import { unreachable } from './client.ts'
import { launchInForeground } from './launch.ts'
import { placeOf } from './place.ts'
import { reachRunning, withWorkbench } from './session.ts'

export const start: Run = async (context, _args, options) => {
  if (options.flag('foreground')) return (await launchInForeground(context, placeOf(context))) === 0 ? 0 : 1
  return withWorkbench(context, async (client) => {
    const { app, engine } = client.hello
    context.result({ app, engine, socket: placeOf(context).socketPath }, () =>
      context.say({
        en: `The workbench runs (pid ${app.pid}). Look at it: svc attach`,
        zh: `工作台正在运行(pid ${app.pid})。查看:svc attach`,
      }),
    )
  })
}

export const stop: Run = async (context, _args, options) => {
  const client = await reachRunning(context)
  if (!client) {
    context.result({ stopped: false }, () => context.say({ en: 'The workbench was not running.', zh: '工作台未在运行。' }))
    return
  }
  await client.call('app.shutdown', { killSessions: options.flag('kill') })
  await client.closed
  context.result({ stopped: true }, () =>
    options.flag('kill')
      ? context.say({ en: 'Stopped, and everything in its panes ended.', zh: '已停止,窗格中的程序均已结束。' })
      : context.say({ en: 'Stopped. What runs in its panes runs on.', zh: '已停止。窗格中的程序继续运行。' }),
  )
}

export const status: Run = async (context) => {
  const client = await reachRunning(context)
  if (!client) throw unreachable('it is not running')
  try {
    const { app, engine, protocol } = client.hello
    const socket = placeOf(context).socketPath
    context.result({ app, engine, protocol, socket }, () =>
      [
        `svc-workbench ${app.version}  pid ${app.pid}`,
        `${context.say({ en: 'terminal', zh: '终端' })}  ${engine.terminal ?? '-'}`,
        `${context.say({ en: 'browser', zh: '浏览器' })}  ${engine.browser ?? context.say({ en: 'not started', zh: '未启动' })}`,
        `${context.say({ en: 'socket', zh: '套接字' })}  ${terminalLine(socket)}`,
      ].join('\n'),
    )
  } finally {
    client.close()
  }
}

export const doctor: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.doctor', {})
    context.result(result, () =>
      toTable(result.checks, [
        { heading: '', cell: (check) => (check.ok ? 'ok' : context.say({ en: 'MISSING', zh: '缺少' })) },
        { heading: context.say({ en: 'PROGRAM', zh: '程序' }), cell: (check) => check.name },
        { heading: context.say({ en: 'FOR', zh: '用途' }), cell: (check) => check.needed },
        {
          heading: context.say({ en: 'FOUND, OR HOW TO INSTALL', zh: '版本或安装方法' }),
          cell: (check) => terminalLine(check.found ?? check.hint ?? ''),
        },
      ]),
    )
    return result.checks.every((check) => check.ok) ? exitCodes.ok.code : exitCodes.failed.code
  })

/** The last of the log, which holds methods, durations and codes, and never what was typed or shown. */
export const logs: Run = async (context, _args, options) => {
  const path = join(placeOf(context).stateDir, 'workbench.log')
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
    const lines = all.slice(Math.max(0, all.length - (options.number('lines') ?? 50)))
    context.result({ path, lines }, () => terminalText(lines.join('\n')))
  } finally {
    await file.close()
  }
}

export const tree: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.tree', {})
    context.result(result, () =>
      result.workspaces
        .flatMap((workspace) => [
          `${workspace.focused ? '*' : ' '} ${workspace.index} ${workspace.id}  ${terminalLine(workspace.title)}${workspace.unread === 0 ? '' : `  (${workspace.unread})`}`,
          ...workspace.panes.map(
            (pane) =>
              `    ${pane.focused ? '*' : ' '} ${pane.index} ${pane.id}  ${terminalLine(pane.command)}  ${terminalLine(pane.cwd)}`,
          ),
          ...workspace.pages.map((page) => `      ${page.id}  ${terminalLine(page.url)}`),
        ])
        .join('\n'),
    )
  })

export const identify: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.identify', {})
    context.result(result, () =>
      [
        `${context.say({ en: 'in front', zh: '当前' })}  ${result.focused.workspaceId ?? '-'}  ${result.focused.paneId ?? '-'}`,
        `${context.say({ en: 'caller', zh: '调用者' })}  ${result.caller?.workspaceId ?? '-'}  ${result.caller?.paneId ?? '-'}`,
      ].join('\n'),
    )
  })

export const capabilities: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('system.capabilities', {})
    const focus = new Set(result.focus)
    context.result(result, () =>
      result.capabilities.map((method) => (focus.has(method) ? `${method}  (focus)` : method)).join('\n'),
    )
  })

export const events: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const names = options.list('name')
    client.onEvent((event) => {
      if (context.json) context.event(event)
      else context.stdout.write(`${event.seq}  ${event.name}  ${terminalText(JSON.stringify(event.data))}\n`)
    })
    const params = { names: names.length === 0 ? undefined : names, after: options.number('after') }
    const { gap } = (await client.callAny('events.subscribe', params)) as { readonly gap: boolean }
    if (gap) context.note({ en: 'Some events in between are no longer kept.', zh: '其间的部分事件已不再保留。' })
    await client.closed
    if (!context.signal.aborted) throw unreachable('the workbench has closed the connection')
    return exitCodes.interrupted.code
  })

export const rpc: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.callAny(args.need('method'), parsed(args.text('params') ?? '{}'))
    context.result(result, () => terminalText(JSON.stringify(result, null, 2)))
  })

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw usageFailure({ en: `The parameters are not JSON: ${String(cause)}`, zh: `参数不是有效的 JSON:${String(cause)}` })
  }
}
