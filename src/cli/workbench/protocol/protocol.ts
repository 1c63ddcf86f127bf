/**
 * `svc.workbench.v1`: the protocol between the command line and the workbench host over the local socket.
 * JSON-RPC 2.0, one object per line. This file imports nothing, so that the command line starts quickly.
 */
export const protocolRange = { min: 1, max: 1 } as const

/** Limits beyond which a peer is refused instead of served. */
export const limits = {
  /** Bytes of one request line. */
  requestBytes: 1024 * 1024,
  /** Bytes of one reply line; a larger result (a screenshot) goes to a file and the reply names it. */
  replyBytes: 16 * 1024 * 1024,
  connections: 64,
  inFlight: 64,
  helloMs: 5_000,
  /** Events stored for a reader that reconnects, and the most that a reader may fall behind. */
  eventRing: 1_024,
  /** Bytes of one `files.read` or `files.write`. */
  fileChunkBytes: 256 * 1024,
  /** The longest Unix socket path that every system supports (macOS: 104 with the closing zero). */
  socketPathBytes: 103,
} as const

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

/** Details of a failure: `details` for programs, `hint` for the user ("apt install tmux"). */
interface WorkbenchErrorDetails {
  readonly details?: Readonly<Record<string, unknown>>
  readonly hint?: string
  readonly cause?: unknown
}

/** The only error whose message crosses the socket; any other becomes `internal_error`. */
export class WorkbenchError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, notes: WorkbenchErrorDetails = {}) {
    super(message, notes.cause === undefined ? undefined : { cause: notes.cause })
    this.name = 'WorkbenchError'
    this.code = code
    this.details = notes.details
    this.hint = notes.hint
  }
}

export type Id = string | number | null

interface RpcFailure {
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

export interface WorkbenchEvent {
  readonly seq: number
  readonly bootId: string
  readonly name: EventName
  /** Milliseconds since 1970. */
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}
