/** The commands of `svc notify` and `svc notification`. Only `open` and `nextUnread` move the user's focus. */
import type { CommandHandler } from '../command.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { formatTimestamp, withZone } from '../terminal/amounts.ts'
import { sanitizeLine } from '../terminal/sanitize-text.ts'
import type { Notification } from '../workbench/protocol/results.ts'
import { resolveNotificationId, resolvePaneId, resolveWorkspaceId } from './connection/resolve-id.ts'
import { readTextOrStdin } from '../read-stdin.ts'
import { withWorkbench } from './connection/with-workbench.ts'
import { formatFocus } from './pane.ts'

export const notify: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.getText('workspace')
    const pane = options.getText('pane')
    const workspaceId = workspace && (await resolveWorkspaceId(client, workspace))
    const result = await client.call('notification.create', {
      title: options.requireText('title'),
      body: await readTextOrStdin(context, options.requireText('body')),
      sound: options.getFlag('sound'),
      workspaceId,
      paneId: pane && (await resolvePaneId(client, pane, workspaceId)),
    })
    for (const { sink, ok, reason } of result.delivered) {
      if (!ok) context.printDetail(`${sink}: ${sanitizeLine(reason ?? '')}`)
    }
    context.printResult(result, () => result.id)
  })

export const list: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.list', { unread: options.getFlag('unread') })
    context.printResult({ ...result, notifications: result.notifications.map(toDocument) }, () =>
      drawTable(context, result.notifications, [
        { heading: 'ID', cell: ({ id }) => id },
        { heading: '', cell: ({ read }) => (read ? '' : context.localize({ en: 'new', zh: '未读' })), drop: 2 },
        {
          heading: withZone(context.localize({ en: 'WHEN', zh: '时间' })),
          cell: ({ at }) => formatTimestamp(context, at),
          drop: 1,
        },
        { heading: context.localize({ en: 'TITLE', zh: '标题' }), cell: ({ title }) => sanitizeLine(title) },
        { heading: context.localize({ en: 'TEXT', zh: '内容' }), cell: ({ body }) => sanitizeLine(body) },
      ]),
    )
  })

export const read: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.read', {
      id: await resolveNotificationId(client, args.requireText('notification')),
    })
    context.printResult(
      { ...result, notification: toDocument(result.notification) },
      () => `${sanitizeLine(result.notification.title)}\n${sanitizeLine(result.notification.body)}`,
    )
  })

export const dismiss: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const id = await resolveNotificationId(client, args.requireText('notification'))
    context.printResult(await client.call('notification.dismiss', { id }), () => '')
  })

export const clear: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.clear', {})
    context.printResult(result, () => String(result.cleared))
  })

export const open: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.open', {
      id: await resolveNotificationId(client, args.requireText('notification')),
    })
    context.printResult(result, () => formatFocus(result.focused))
  })

export const nextUnread: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('notification.nextUnread', {})
    context.printResult(result, () => formatFocus(result.focused))
  })

/** For programs: the time as RFC 3339. */
function toDocument(notification: Notification): object {
  return { ...notification, at: new Date(notification.at).toISOString() }
}
