/**
 * The parameters of each method. Unknown parameters are refused, so that a misspelt one is reported instead of ignored.
 * Only the host loads this file; the command line uses the types.
 */
import { z } from 'zod'
import type { Method } from './protocol.ts'
import { eventNames, limits } from './protocol.ts'

const id = z.string().min(1).max(64)
const title = z.string().max(1_000)
const cwd = z.string().min(1).max(4_096)
const env = z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string().max(32_768))
const direction = z.enum(['right', 'left', 'up', 'down'])
const nothing = z.strictObject({})
const page = { pageId: id.optional() }
const selector = z.string().min(1).max(4_096)
const timeoutMs = z.number().int().min(1).max(600_000)
const wait = z.enum(['load', 'domcontentloaded', 'networkidle'])
const step = z.strictObject({ ...page, wait: wait.optional(), timeoutMs: timeoutMs.optional() })
/** A remote path as text, or as bytes (base64) where it is not UTF-8. */
const place = { path: z.string().min(1).max(4_096).optional(), pathBase64: z.base64().max(8_192).optional() }
const remote = { sshId: id, ...place }

export const paramSchemas = {
  'system.ping': nothing,
  'system.hello': z.strictObject({
    protocol: z.strictObject({ min: z.number().int(), max: z.number().int() }),
    token: z.string().max(256),
    client: z.strictObject({ name: z.string().max(100), version: z.string().max(100) }),
    caller: z.strictObject({ workspaceId: id.nullable(), paneId: id.nullable() }).optional(),
  }),
  'system.identify': nothing,
  'system.capabilities': nothing,
  'system.tree': nothing,
  'system.doctor': nothing,

  'workspace.list': nothing,
  'workspace.create': z.strictObject({
    title: title.optional(),
    cwd: cwd.optional(),
    command: z.string().max(65_536).optional(),
    env: env.optional(),
  }),
  'workspace.rename': z.strictObject({ id, title }),
  'workspace.close': z.strictObject({ id, force: z.boolean().optional() }),
  'workspace.show': z.strictObject({ id: id.optional() }),
  'workspace.focus': z.strictObject({ id }),
  'workspace.next': nothing,
  'workspace.previous': nothing,
  'workspace.last': nothing,

  'pane.list': z.strictObject({ workspaceId: id.optional(), all: z.boolean().optional() }),
  'pane.split': z.strictObject({
    paneId: id.optional(),
    workspaceId: id.optional(),
    direction,
    size: z.number().int().min(1).max(99).optional(),
    cwd: cwd.optional(),
    command: z.string().max(65_536).optional(),
  }),
  'pane.close': z.strictObject({ paneId: id, force: z.boolean().optional() }),
  'pane.resize': z.strictObject({
    paneId: id.optional(),
    workspaceId: id.optional(),
    cols: z.number().int().min(1).max(10_000).optional(),
    rows: z.number().int().min(1).max(10_000).optional(),
  }),
  'pane.send': z.strictObject({ paneId: id.optional(), workspaceId: id.optional(), text: z.string() }),
  'pane.key': z.strictObject({ paneId: id.optional(), workspaceId: id.optional(), key: z.string().min(1).max(32) }),
  'pane.read': z.strictObject({
    paneId: id.optional(),
    workspaceId: id.optional(),
    lines: z.number().int().min(0).max(20_000).optional(),
  }),
  'pane.focus': z.union([z.strictObject({ paneId: id }), z.strictObject({ direction })]),
  'pane.last': nothing,

  'notification.create': z.strictObject({
    title: z.string().min(1).max(1_000),
    body: z.string().max(16_384),
    sound: z.boolean().optional(),
    workspaceId: id.optional(),
    paneId: id.optional(),
  }),
  'notification.list': z.strictObject({ unread: z.boolean().optional() }),
  'notification.read': z.strictObject({ id }),
  'notification.dismiss': z.strictObject({ id }),
  'notification.clear': nothing,
  'notification.open': z.strictObject({ id }),
  'notification.nextUnread': nothing,

  'browser.open': z.strictObject({ workspaceId: id.optional() }),
  'browser.close': z.strictObject({ ...page }),
  'browser.list': z.strictObject({ workspaceId: id.optional() }),
  'browser.goto': z.strictObject({
    url: z.string().min(1).max(16_384),
    ...page,
    workspaceId: id.optional(),
    wait: wait.optional(),
    timeoutMs: timeoutMs.optional(),
    allowFile: z.boolean().optional(),
  }),
  'browser.back': step,
  'browser.forward': step,
  'browser.reload': step,
  'browser.snapshot': z.strictObject({
    ...page,
    selector: selector.optional(),
    depth: z.number().int().min(1).max(100).optional(),
    maxBytes: z
      .number()
      .int()
      .min(1)
      .max(limits.replyBytes / 2)
      .optional(),
  }),
  'browser.fill': z.strictObject({ ...page, selector, text: z.string() }),
  'browser.click': z.strictObject({ ...page, selector }),
  'browser.type': z.strictObject({ ...page, selector: selector.optional(), text: z.string() }),
  'browser.press': z.strictObject({ ...page, selector: selector.optional(), key: z.string().min(1).max(64) }),
  'browser.select': z.strictObject({ ...page, selector, values: z.array(z.string()).min(1).max(100) }),
  'browser.check': z.strictObject({ ...page, selector, checked: z.boolean().optional() }),
  'browser.wait': z.strictObject({
    ...page,
    selector: selector.optional(),
    text: z.string().min(1).max(4_096).optional(),
    url: z.string().min(1).max(4_096).optional(),
    load: wait.optional(),
    gone: z.boolean().optional(),
    timeoutMs: timeoutMs.optional(),
  }),
  'browser.get': z.strictObject({
    ...page,
    what: z.enum(['url', 'title', 'text', 'html', 'value', 'attribute', 'count']),
    selector: selector.optional(),
    name: z.string().min(1).max(200).optional(),
  }),
  'browser.eval': z.strictObject({ ...page, expression: z.string().min(1) }),
  'browser.screenshot': z.strictObject({ ...page, path: cwd.optional(), fullPage: z.boolean().optional() }),
  'browser.focus': z.strictObject({ ...page }),

  'ssh.connect': z.strictObject({
    destination: z.string().min(1).max(1_024),
    title: title.optional(),
    port: z.number().int().min(1).max(65_535).optional(),
    identity: cwd.optional(),
    options: z
      .array(
        z
          .string()
          .regex(/^[A-Za-z]+[= ]/)
          .max(4_096),
      )
      .max(50)
      .optional(),
  }),
  'ssh.list': nothing,
  'ssh.status': z.strictObject({ sshId: id }),
  'ssh.disconnect': z.strictObject({ sshId: id }),
  'ssh.reconnect': z.strictObject({ sshId: id }),

  'files.list': z.strictObject(remote),
  'files.stat': z.strictObject(remote),
  'files.read': z.strictObject({
    ...remote,
    offset: z.number().int().min(0),
    length: z.number().int().min(1).max(limits.fileChunkBytes).optional(),
  }),
  'files.write': z.strictObject({
    ...remote,
    offset: z.number().int().min(0),
    data: z.base64().max(Math.ceil(limits.fileChunkBytes / 3) * 4),
    truncate: z.boolean().optional(),
    mode: z.number().int().min(0).max(0o7777).optional(),
  }),
  'files.mkdir': z.strictObject(remote),
  'files.rename': z.strictObject({
    ...remote,
    to: z.string().min(1).max(4_096).optional(),
    toBase64: z.base64().max(8_192).optional(),
    replace: z.boolean().optional(),
  }),
  'files.remove': z.strictObject(remote),
  'files.realpath': z.strictObject(remote),
  'files.open': z.strictObject({ sshId: id, path: z.string().max(4_096).optional() }),

  'events.subscribe': z.strictObject({
    names: z.array(z.enum(eventNames)).min(1).max(eventNames.length).optional(),
    after: z.number().int().min(0).optional(),
  }),
  'events.unsubscribe': z.strictObject({ subscriptionId: id }),
  'app.shutdown': z.strictObject({ killSessions: z.boolean().optional() }),
} as const satisfies Record<Method, z.ZodType>

export const methods = Object.keys(paramSchemas) as readonly Method[]

/** The checked parameters that a method's handler receives. */
export type ParamsOf<M extends Method> = z.output<(typeof paramSchemas)[M]>
