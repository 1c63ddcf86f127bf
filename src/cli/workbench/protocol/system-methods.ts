/** The methods of the protocol for the workbench itself, events and the end of the host. */
import { z } from 'zod'
import { id, nothing, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import { eventNames } from './protocol.ts'
import type { Focus, Workspace, Pane, BrowserPage, Check, Hello, Done } from './results.ts'

export const systemMethods = {
  'system.ping': {
    summary: 'answers as soon as the host runs',
    params: nothing,
    result: result<{ readonly pong: true }>(),
  },
  'system.hello': {
    summary: 'begins a connection with the token and the version',
    params: z.strictObject({
      protocol: z.strictObject({ min: z.number().int(), max: z.number().int() }),
      token: z.string().max(256),
      client: z.strictObject({ name: z.string().max(100), version: z.string().max(100) }),
      caller: z.strictObject({ workspaceId: id.nullable(), paneId: id.nullable() }).optional(),
    }),
    result: result<Hello>(),
  },
  'system.identify': {
    summary: 'the focused workspace and the pane of the caller',
    params: nothing,
    result: result<{ readonly focused: Focus; readonly caller: Focus | null }>(),
  },
  'system.capabilities': {
    summary: 'every method, and which of them may move the focus',
    params: nothing,
    result: result<{
      readonly protocol: number
      readonly capabilities: readonly string[]
      readonly focus: readonly string[]
      /** By method. */
      readonly summaries: Readonly<Record<string, string>>
    }>(),
  },
  'system.tree': {
    summary: 'workspaces with their panes and pages',
    params: nothing,
    result: result<{
      readonly workspaces: readonly (Workspace & { readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] })[]
    }>(),
  },
  'system.doctor': {
    summary: 'missing programs, and refused moves of the focus',
    params: nothing,
    result: result<{ readonly checks: readonly Check[]; readonly focusViolations: number }>(),
  },
  'events.subscribe': {
    summary: 'receive events on this connection',
    params: z.strictObject({
      names: z.array(z.enum(eventNames)).min(1).max(eventNames.length).optional(),
      after: z.number().int().min(0).optional(),
    }),
    result: result<{
      readonly subscriptionId: string
      readonly bootId: string
      readonly seq: number
      /** True when events after `after` are no longer stored, so that some are missing. */
      readonly gap: boolean
    }>(),
  },
  'events.unsubscribe': {
    summary: 'receive them no more',
    params: z.strictObject({ subscriptionId: id }),
    result: result<Done>(),
  },
  'app.shutdown': {
    summary: 'end the host, and with killSessions the programs in its panes',
    params: z.strictObject({ killSessions: z.boolean().optional() }),
    result: result<Done>(),
  },
} as const satisfies Record<string, MethodDefinition>
