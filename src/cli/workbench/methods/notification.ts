/** The methods `notification.…`: the record, and going to where one came from. */
import type { FocusIntent } from '../engine.ts'
import type { Family, Handlers } from '../handler.ts'
import { WorkbenchError } from '../protocol.ts'
import type { Delivery, Focus, Notification } from '../results.ts'
import type { Workbench } from '../workbench.ts'
import { targetPane, targetWorkspace } from '../workbench.ts'

export function notificationMethods(bench: Workbench): Handlers<Family<'notification'>> {
  const { engine, events, notifications } = bench

  /** The mark in the status line follows the record. A workspace that is gone, or no terminal at all, has none to show. */
  const mark = async (workspaceId: string | null): Promise<void> => {
    if (workspaceId === null) return
    const note = bench.ssh.noteOf(workspaceId)
    await engine.mark(workspaceId, { unread: notifications.unreadOf(workspaceId), note }).catch(tolerateMissing)
  }

  const open = async (
    intent: FocusIntent,
    notification: Notification,
  ): Promise<{ notification: Notification; focused: Focus }> => {
    const { paneId, workspaceId } = notification
    const panes = (await engine.list()).flatMap((workspace) => workspace.panes)
    if (panes.some((pane) => pane.id === paneId) && paneId !== null) await engine.focusPane(intent, paneId)
    else if (panes.some((pane) => pane.workspaceId === workspaceId) && workspaceId !== null)
      await engine.focusWorkspace(intent, workspaceId)
    else throw new WorkbenchError('not_found', 'the place this notification came from is closed')
    const read = await notifications.markRead(notification.id)
    await mark(workspaceId)
    events.emit('notification.read', { id: read.id })
    return { notification: read, focused: await engine.focused() }
  }

  return {
    'notification.create': async ({ params, caller }) => {
      const { title, body, sound = false } = params
      const place = await placeOf(bench, caller, params)
      const id = bench.services.newId('nt')
      const unkept = await notifications.add({ id, title, body, ...place, at: bench.services.now(), read: false })
      await mark(place.workspaceId)
      events.emit('notification.created', { id, title, ...place })
      const record: Delivery = { sink: 'record', ok: unkept === undefined, ...(unkept && { reason: unkept }) }
      return { id, delivered: [record, ...(await bench.notifier.show({ title, body, sound }))] }
    },

    'notification.list': async ({ params }) => ({
      notifications: notifications.list().filter((notification) => params.unread !== true || !notification.read),
    }),

    'notification.read': async ({ params }) => {
      const notification = await notifications.markRead(params.id)
      await mark(notification.workspaceId)
      events.emit('notification.read', { id: params.id })
      return { notification }
    },

    'notification.dismiss': async ({ params }) => {
      const gone = await notifications.remove(params.id)
      await mark(gone.workspaceId)
      return { ok: true }
    },

    'notification.clear': async () => {
      const places = new Set(notifications.list().map((notification) => notification.workspaceId))
      const cleared = await notifications.clear()
      for (const workspaceId of places) await mark(workspaceId)
      return { cleared }
    },

    'notification.open': async ({ params }, intent) => open(intent, notifications.get(params.id)),

    'notification.nextUnread': async (_call, intent) => {
      const next = notifications.oldestUnread()
      if (!next) throw new WorkbenchError('not_found', 'everything has been read')
      return open(intent, next)
    },
  }
}

/** Where a notification belongs: what was named, else the caller's own pane; none where there are no workspaces. */
async function placeOf(
  bench: Workbench,
  caller: Focus | null,
  named: { readonly workspaceId?: string | undefined; readonly paneId?: string | undefined },
): Promise<{ workspaceId: string | null; paneId: string | null }> {
  if (named.paneId !== undefined) {
    const pane = await targetPane(bench, { caller }, named)
    return { workspaceId: pane.workspaceId, paneId: pane.id }
  }
  if (named.workspaceId !== undefined) {
    return { workspaceId: (await targetWorkspace(bench, { caller }, named.workspaceId)).id, paneId: null }
  }
  return caller ?? { workspaceId: null, paneId: null }
}

function tolerateMissing(error: unknown): void {
  if (error instanceof WorkbenchError && (error.code === 'not_found' || error.code === 'engine_unavailable')) return
  throw error
}
