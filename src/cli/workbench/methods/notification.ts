/** The methods `notification.…`: the stored notifications, and moving to the origin of one. */
import type { FocusIntent } from '../engine/terminal-engine.ts'
import type { Family, Handlers } from './handler.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Delivery, Focus, Notification } from '../protocol/results.ts'
import type { Workbench } from '../workbench.ts'
import { resolvePane, resolveWorkspace } from '../workbench.ts'

export function createNotificationMethods(bench: Workbench): Handlers<Family<'notification'>> {
  const { engine, events, notifications } = bench

  /** Updates the newest unread text and the mark in the status line. A closed workspace, or a machine without a terminal, has none. */
  const updateStatusLine = async (workspaceId: string | null): Promise<void> => {
    const newestUnread = notifications.findNewestUnread()
    const text =
      newestUnread === undefined ? '' : [newestUnread.title, newestUnread.body].filter((part) => part !== '').join(': ')
    await engine.setNotice(text).catch(ignoreMissing)
    if (workspaceId === null) return
    const note = bench.ssh.getStatusNote(workspaceId)
    await engine.setStatusEntry(workspaceId, { unread: notifications.countUnread(workspaceId), note }).catch(ignoreMissing)
  }

  const open = async (
    intent: FocusIntent,
    notification: Notification,
  ): Promise<{ notification: Notification; focused: Focus }> => {
    const { paneId, workspaceId } = notification
    const panes = (await engine.listWorkspaces()).flatMap((workspace) => workspace.panes)
    if (panes.some((pane) => pane.id === paneId) && paneId !== null) await engine.focusPane(intent, paneId)
    else if (panes.some((pane) => pane.workspaceId === workspaceId) && workspaceId !== null)
      await engine.focusWorkspace(intent, workspaceId)
    else throw new WorkbenchError('not_found', 'the workspace or pane of this notification is closed')
    const markedNotification = await notifications.markRead(notification.id)
    await updateStatusLine(workspaceId)
    events.emit('notification.read', { id: markedNotification.id })
    return { notification: markedNotification, focused: await engine.getFocus() }
  }

  return {
    'notification.create': async ({ params, caller }) => {
      const { title, body, sound = false } = params
      const place = await resolveSource(bench, caller, params)
      const id = bench.services.newId('nt')
      const saveError = await notifications.add({ id, title, body, ...place, at: bench.services.now(), read: false })
      await updateStatusLine(place.workspaceId)
      events.emit('notification.created', { id, title, ...place })
      const record: Delivery = { sink: 'record', ok: saveError === undefined, ...(saveError && { reason: saveError }) }
      return { id, delivered: [record, ...(await bench.notifier.show({ title, body, sound }))] }
    },

    'notification.list': async ({ params }) => ({
      notifications: notifications.list().filter((notification) => params.unread !== true || !notification.read),
    }),

    'notification.read': async ({ params }) => {
      const notification = await notifications.markRead(params.id)
      await updateStatusLine(notification.workspaceId)
      events.emit('notification.read', { id: params.id })
      return { notification }
    },

    'notification.dismiss': async ({ params }) => {
      const removedNotification = await notifications.remove(params.id)
      await updateStatusLine(removedNotification.workspaceId)
      return { ok: true }
    },

    'notification.clear': async () => {
      const places = new Set(notifications.list().map((notification) => notification.workspaceId))
      const clearedCount = await notifications.clear()
      for (const workspaceId of places) await updateStatusLine(workspaceId)
      return { cleared: clearedCount }
    },

    'notification.open': async ({ params }, intent) => open(intent, notifications.get(params.id)),

    'notification.nextUnread': async (_call, intent) => {
      const next = notifications.findOldestUnread()
      if (!next) throw new WorkbenchError('not_found', 'there is no unread notification')
      return open(intent, next)
    },
  }
}

/** The origin of a notification: the named target, else the caller's own pane; none where there are no workspaces. */
async function resolveSource(
  bench: Workbench,
  caller: Focus | null,
  named: { readonly workspaceId?: string | undefined; readonly paneId?: string | undefined },
): Promise<{ workspaceId: string | null; paneId: string | null }> {
  if (named.paneId !== undefined) {
    const pane = await resolvePane(bench, { caller }, named)
    return { workspaceId: pane.workspaceId, paneId: pane.id }
  }
  if (named.workspaceId !== undefined) {
    return { workspaceId: (await resolveWorkspace(bench, { caller }, named.workspaceId)).id, paneId: null }
  }
  return caller ?? { workspaceId: null, paneId: null }
}

function ignoreMissing(error: unknown): void {
  if (error instanceof WorkbenchError && (error.code === 'not_found' || error.code === 'engine_unavailable')) return
  throw error
}
