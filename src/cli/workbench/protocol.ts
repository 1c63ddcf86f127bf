/**
 * `svc.workbench.v1`: the words that the command line and the workbench host say to each other over the local socket.
 * JSON-RPC 2.0, one object a line. This file loads nothing, so that the command line starts quickly.
 */
import type { Results } from './results.ts'

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
] as const satisfies readonly Method[]

export type Method = keyof Results
export type FocusMethod = (typeof focusMethods)[number]
/** The methods that never change the focus. */
export type QuietMethod = Exclude<Method, FocusMethod>

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

export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data: { readonly code: ErrorCode; readonly details?: Readonly<Record<string, unknown>>; readonly hint?: string }
}

export type RpcReply =
  | { readonly jsonrpc: '2.0'; readonly id: Id; readonly result: unknown }
  | { readonly jsonrpc: '2.0'; readonly id: Id; readonly error: RpcFailure }

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
