/**
 * `svc.workbench.v1`: the words that the command line and the workbench host say to each other over the local socket.
 * JSON-RPC 2.0, one object a line. This file has no dependency, so that the command line starts quickly.
 */

export const protocolRange = { min: 1, max: 1 } as const

/** Bytes and counts beyond which a peer is refused instead of served. */
export const limits = {
  /** One request line. */
  requestBytes: 1024 * 1024,
  /** One reply line; what is larger (a screenshot) goes to a file and the reply names it. */
  replyBytes: 16 * 1024 * 1024,
  connections: 64,
  inFlight: 64,
  helloMs: 5_000,
  /** Events kept for a reader that comes back, and how far a reader may fall behind. */
  eventRing: 1_024,
  /** One `files.read` or `files.write`. */
  fileChunkBytes: 256 * 1024,
  /** The longest path a Unix socket can have everywhere (macOS: 104 with the closing zero). */
  socketPathBytes: 103,
} as const

/**
 * The only methods that may change what the user is looking at. Whatever is not in this list must leave the focus alone;
 * that is a property of the name, and it is tested for every method.
 */
export const focusMethods = [
  'workspace.focus',
  'workspace.next',
  'workspace.previous',
  'workspace.last',
  'pane.focus',
  'pane.last',
  'notification.open',
  'notification.nextUnread',
  'browser.focus',
] as const

/** The methods that never change the focus. */
export const quietMethods = [
  'system.ping',
  'system.hello',
  'system.identify',
  'system.capabilities',
  'system.tree',
  'system.doctor',
  'workspace.list',
  'workspace.create',
  'workspace.rename',
  'workspace.close',
  'workspace.show',
  'pane.list',
  'pane.split',
  'pane.close',
  'pane.resize',
  'pane.send',
  'pane.key',
  'pane.read',
  'notification.create',
  'notification.list',
  'notification.read',
  'notification.dismiss',
  'notification.clear',
  'browser.open',
  'browser.close',
  'browser.list',
  'browser.goto',
  'browser.back',
  'browser.forward',
  'browser.reload',
  'browser.snapshot',
  'browser.fill',
  'browser.click',
  'browser.type',
  'browser.press',
  'browser.select',
  'browser.check',
  'browser.wait',
  'browser.get',
  'browser.eval',
  'browser.screenshot',
  'ssh.connect',
  'ssh.list',
  'ssh.status',
  'ssh.disconnect',
  'ssh.reconnect',
  'files.list',
  'files.stat',
  'files.read',
  'files.write',
  'files.mkdir',
  'files.rename',
  'files.remove',
  'files.realpath',
  'files.open',
  'events.subscribe',
  'events.unsubscribe',
  'app.shutdown',
] as const

export type FocusMethod = (typeof focusMethods)[number]
export type QuietMethod = (typeof quietMethods)[number]
export type Method = FocusMethod | QuietMethod

export const methods: readonly Method[] = [...quietMethods, ...focusMethods]

/** Whether calling `method` may change the focus. */
export function isFocusMethod(method: Method): method is FocusMethod {
  return (focusMethods as readonly Method[]).includes(method)
}

/** Each stable error string with its JSON-RPC number; clients match on the string in `error.data.code`. */
export const errorNumbers = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  unauthorized: -32001,
  hello_required: -32001,
  unsupported_protocol: -32002,
  not_found: -32004,
  ambiguous: -32004,
  timeout: -32005,
  focus_conflict: -32006,
  engine_unavailable: -32007,
  navigation_failed: -32008,
  ref_stale: -32008,
  element_not_editable: -32008,
  ssh_failed: -32009,
  ssh_not_connected: -32009,
  remote_io: -32009,
  busy: -32010,
  slow_consumer: -32010,
  shutting_down: -32010,
} as const

export type ErrorCode = keyof typeof errorNumbers

/** More about a failure: `details` for programs, `hint` for the person ("apt install tmux"). */
export interface ErrorNotes {
  readonly details?: Readonly<Record<string, unknown>>
  readonly hint?: string
  readonly cause?: unknown
}

/** The only error whose words cross the socket; anything else becomes `internal_error`. */
export class WorkbenchError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, notes: ErrorNotes = {}) {
    super(message, notes.cause === undefined ? undefined : { cause: notes.cause })
    this.name = 'WorkbenchError'
    this.code = code
    this.details = notes.details
    this.hint = notes.hint
  }
}

export type Id = string | number | null

export interface RpcRequest {
  readonly jsonrpc: '2.0'
  readonly id?: Id
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data: { readonly code: ErrorCode; readonly details?: Readonly<Record<string, unknown>>; readonly hint?: string }
}

export type RpcReply =
  | { readonly jsonrpc: '2.0'; readonly id: Id; readonly result: unknown }
  | { readonly jsonrpc: '2.0'; readonly id: Id; readonly error: RpcFailure }

/** What is in front of the user: the shown workspace and the pane that gets the keys. */
export interface Focus {
  readonly workspaceId: string | null
  readonly paneId: string | null
}

export interface Workspace {
  readonly id: string
  /** The number in the bar, kept as long as the workspace is there; the command line takes it instead of the id. */
  readonly index: number
  readonly title: string
  readonly focused: boolean
  readonly paneCount: number
  /** Notifications not yet read that belong to it. */
  readonly unread: number
  readonly cwd: string
  readonly kind: 'local' | 'ssh'
}

export interface Pane {
  readonly id: string
  readonly workspaceId: string
  readonly index: number
  readonly title: string
  readonly command: string
  readonly cwd: string
  readonly cols: number
  readonly rows: number
  readonly focused: boolean
  /** Its program has ended and the pane is kept to show why. */
  readonly dead: boolean
  /** What that program ended with. */
  readonly exit: number | null
}

export interface Notification {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly workspaceId: string | null
  readonly paneId: string | null
  /** Milliseconds since 1970. */
  readonly at: number
  readonly read: boolean
}

/** One way a notification was shown, or why it was not. */
export interface Delivery {
  readonly sink: 'record' | 'terminal' | 'desktop'
  readonly ok: boolean
  readonly reason?: string
}

export interface BrowserPage {
  readonly id: string
  readonly workspaceId: string
  readonly url: string
  readonly title: string
}

export interface Ssh {
  readonly id: string
  readonly destination: string
  readonly state: 'connecting' | 'connected' | 'failed' | 'closed'
  readonly workspaceId: string
  readonly paneId: string
  /** Present once connected: the remote directory the file explorer starts in. */
  readonly explorer: { readonly offered: true; readonly root: string } | null
  /** ssh's own exit code, once it has ended. */
  readonly exit: number | null
  /** The last words ssh wrote, when it failed. */
  readonly reason: string | null
}

/** `nameBase64` is there only where the remote name is not UTF-8; `name` is then for reading alone. */
export interface RemoteFile {
  readonly name: string
  readonly nameBase64?: string
  readonly type: 'file' | 'directory' | 'link' | 'other'
  readonly size: number
  readonly mode: number
  /** Seconds since 1970. */
  readonly modified: number
}

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly found: string | null
  /** What stops working without it. */
  readonly needed: string
  /** The command that installs it, when it is missing. */
  readonly hint: string | null
}

export interface Hello {
  readonly protocol: number
  readonly app: { readonly name: string; readonly version: string; readonly pid: number; readonly bootId: string }
  readonly engine: {
    readonly terminal: string | null
    readonly browser: string | null
    /** The command line that shows the workbench in a terminal. */
    readonly attach: readonly string[] | null
  }
  readonly capabilities: readonly Method[]
}

interface Done {
  readonly ok: true
}

/** What each method answers. A client ignores fields it does not know; new ones do not change the version. */
export interface Results {
  'system.ping': { readonly pong: true }
  'system.hello': Hello
  'system.identify': { readonly focused: Focus; readonly caller: Focus | null }
  'system.capabilities': {
    readonly protocol: number
    readonly capabilities: readonly Method[]
    readonly focus: readonly Method[]
  }
  'system.tree': {
    readonly workspaces: readonly (Workspace & { readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] })[]
  }
  'system.doctor': { readonly checks: readonly Check[]; readonly focusViolations: number }
  'workspace.list': { readonly workspaces: readonly Workspace[] }
  'workspace.create': { readonly workspace: Workspace; readonly pane: Pane }
  'workspace.rename': { readonly workspace: Workspace }
  'workspace.close': Done
  'workspace.show': { readonly workspace: Workspace; readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] }
  'workspace.focus': { readonly focused: Focus }
  'workspace.next': { readonly focused: Focus }
  'workspace.previous': { readonly focused: Focus }
  'workspace.last': { readonly focused: Focus }
  'pane.list': { readonly panes: readonly Pane[] }
  'pane.split': { readonly pane: Pane }
  'pane.close': Done
  'pane.resize': { readonly pane: Pane }
  'pane.send': Done
  'pane.key': Done
  'pane.read': { readonly pane: Pane; readonly text: string }
  'pane.focus': { readonly focused: Focus }
  'pane.last': { readonly focused: Focus }
  'notification.create': { readonly id: string; readonly delivered: readonly Delivery[] }
  'notification.list': { readonly notifications: readonly Notification[] }
  'notification.read': { readonly notification: Notification }
  'notification.dismiss': Done
  'notification.clear': { readonly cleared: number }
  'notification.open': { readonly notification: Notification; readonly focused: Focus }
  'notification.nextUnread': { readonly notification: Notification; readonly focused: Focus }
  'browser.open': { readonly page: BrowserPage }
  'browser.close': Done
  'browser.list': { readonly pages: readonly BrowserPage[] }
  'browser.goto': Navigation
  'browser.back': Navigation
  'browser.forward': Navigation
  'browser.reload': Navigation
  'browser.snapshot': {
    readonly page: BrowserPage
    readonly snapshotId: string
    readonly text: string
    readonly truncated: boolean
  }
  'browser.fill': { readonly page: BrowserPage }
  'browser.click': { readonly page: BrowserPage }
  'browser.type': { readonly page: BrowserPage }
  'browser.press': { readonly page: BrowserPage }
  'browser.select': { readonly page: BrowserPage; readonly selected: readonly string[] }
  'browser.check': { readonly page: BrowserPage; readonly checked: boolean }
  'browser.wait': { readonly page: BrowserPage }
  'browser.get': { readonly page: BrowserPage; readonly value: string | null }
  'browser.eval': { readonly page: BrowserPage; readonly value: unknown }
  'browser.screenshot': { readonly page: BrowserPage; readonly path: string; readonly bytes: number }
  'browser.focus': { readonly page: BrowserPage; readonly focused: Focus }
  'ssh.connect': { readonly ssh: Ssh; readonly workspace: Workspace; readonly pane: Pane }
  'ssh.list': { readonly connections: readonly Ssh[] }
  'ssh.status': { readonly ssh: Ssh }
  'ssh.disconnect': { readonly ssh: Ssh }
  'ssh.reconnect': { readonly ssh: Ssh }
  'files.list': { readonly path: string; readonly files: readonly RemoteFile[] }
  'files.stat': { readonly file: RemoteFile }
  'files.read': { readonly data: string; readonly bytes: number; readonly end: boolean }
  'files.write': { readonly bytes: number }
  'files.mkdir': Done
  'files.rename': Done
  'files.remove': Done
  'files.realpath': { readonly path: string }
  'files.open': { readonly pane: Pane }
  'events.subscribe': {
    readonly subscriptionId: string
    readonly bootId: string
    readonly seq: number
    /** True when events after `after` are no longer kept, so something was missed. */
    readonly gap: boolean
  }
  'events.unsubscribe': Done
  'app.shutdown': Done
}

export interface Navigation {
  readonly page: BrowserPage
  /** The HTTP status of the last answer; null for about:blank and for steps within the page. */
  readonly status: number | null
  readonly finalUrl: string
}

export const eventNames = [
  'workspace.created',
  'workspace.renamed',
  'workspace.closed',
  'workspace.focused',
  'pane.created',
  'pane.closed',
  'pane.focused',
  'pane.exited',
  'notification.created',
  'notification.read',
  'browser.navigated',
  'browser.closed',
  'ssh.state',
  'explorer.offered',
  'heartbeat',
] as const

export type EventName = (typeof eventNames)[number]

/** Why the focus moved: the trail by which the focus rule can be checked afterwards. */
export type FocusCause = { readonly kind: 'user' } | { readonly kind: 'method'; readonly method: Method; readonly requestId: Id }

export interface WorkbenchEvent {
  readonly seq: number
  readonly bootId: string
  readonly name: EventName
  /** Milliseconds since 1970. */
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}
