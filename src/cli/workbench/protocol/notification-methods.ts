/** The methods of the protocol for notifications. */
import { z } from 'zod'
import { id, nothing, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import type { Focus, Notification, Delivery, Done } from './results.ts'

export const notificationMethods = {
  'notification.create': {
    summary: 'notify the user',
    params: z.strictObject({
      title: z.string().min(1).max(1_000),
      body: z.string().max(16_384),
      sound: z.boolean().optional(),
      workspaceId: id.optional(),
      paneId: id.optional(),
    }),
    result: result<{ readonly id: string; readonly delivered: readonly Delivery[] }>(),
  },
  'notification.list': {
    summary: 'the stored notifications',
    params: z.strictObject({ unread: z.boolean().optional() }),
    result: result<{ readonly notifications: readonly Notification[] }>(),
  },
  'notification.read': {
    summary: 'mark one as read',
    params: z.strictObject({ id }),
    result: result<{ readonly notification: Notification }>(),
  },
  'notification.dismiss': {
    summary: 'delete one',
    params: z.strictObject({ id }),
    result: result<Done>(),
  },
  'notification.clear': {
    summary: 'delete all',
    params: nothing,
    result: result<{ readonly cleared: number }>(),
  },
  'notification.open': {
    summary: 'go to its origin',
    params: z.strictObject({ id }),
    result: result<{ readonly notification: Notification; readonly focused: Focus }>(),
    focus: true,
  },
  'notification.nextUnread': {
    summary: 'go to the origin of the oldest unread one',
    params: nothing,
    result: result<{ readonly notification: Notification; readonly focused: Focus }>(),
    focus: true,
  },
} as const satisfies Record<string, MethodDefinition>
