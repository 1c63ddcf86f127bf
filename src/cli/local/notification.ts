/** The commands of `svc notify` and `svc notification`. Only `open` and `nextUnread` move what the user is looking at. */
import type { Run } from '../command.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { pickNotification, pickPane, pickWorkspace } from './pick.ts'
import { textOrInput } from './read-input.ts'
import { withWorkbench } from './session.ts'
import { focusLine } from './focus-line.ts'

export const notify: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.text('workspace')
    const pane = options.text('pane')
    const workspaceId = workspace && (await pickWorkspace(client, workspace))
    const result = await client.call('notification.create', {
      title: options.need('title'),
      body: await textOrInput(context, options.need('body')),
      sound: options.flag('sound'),
      workspaceId,
      paneId: pane && (await pickPane(client, pane, workspaceId)),
    })
    for (const { sink, ok, reason } of result.delivered) {
      if (!ok) context.detail(`${sink}: ${terminalLine(reason ?? '')}`)
    }
    context.result(result, () => result.id)
  })

export const list: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.list', { unread: options.flag('unread') })
    context.result(result, () =>
      toTable(result.notifications, [
        { heading: 'ID', cell: ({ id, read }) => `${read ? ' ' : '*'} ${id}` },
        { heading: context.say({ en: 'WHEN', zh: '时间' }), cell: ({ at }) => new Date(at).toISOString().slice(0, 19) },
        { heading: context.say({ en: 'TITLE', zh: '标题' }), cell: ({ title }) => terminalLine(title) },
        { heading: context.say({ en: 'TEXT', zh: '内容' }), cell: ({ body }) => terminalLine(body) },
      ]),
    )
  })

export const read: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.read', { id: await pickNotification(client, args.need('notification')) })
    context.result(result, () => `${terminalLine(result.notification.title)}\n${terminalLine(result.notification.body)}`)
  })

export const dismiss: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const id = await pickNotification(client, args.need('notification'))
    context.result(await client.call('notification.dismiss', { id }), () => '')
  })

export const clear: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.clear', {})
    context.result(result, () => String(result.cleared))
  })

export const open: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.open', { id: await pickNotification(client, args.need('notification')) })
    context.result(result, () => focusLine(result.focused))
  })

export const nextUnread: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.nextUnread', {})
    context.result(result, () => focusLine(result.focused))
  })
