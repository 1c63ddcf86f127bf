/** Client for our own API, with its failures as errors. */
import type { ResponseOf } from '../../api/endpoint.ts'
import { commonTexts, language } from './page.ts'
import type { ErrorEnvelope, ApiEndpoint, RequestArguments } from './api-types.ts'

/** A failure as the service reported it; `status` 0 where no response arrived. */
export class ApiError extends Error {
  readonly status: number
  readonly envelope: ErrorEnvelope | null
  /** Seconds. */
  readonly retryAfter: number | null
  /** When the used-up quota resets, in Unix milliseconds; null for other failures. */
  readonly resetsAt: number | null

  constructor(status: number, envelope: ErrorEnvelope | null, retryAfter: number | null = null, resetsAt: number | null = null) {
    super(envelope === null ? commonTexts.offline : language === 'zh' ? envelope.messageZh : envelope.message)
    this.status = status
    this.envelope = envelope
    this.retryAfter = retryAfter
    this.resetsAt = resetsAt
  }

  get code(): string | null {
    return this.envelope?.code ?? null
  }

  /** Whether the service advises this; it advises a retry where no response arrived. */
  advises(action: ErrorEnvelope['actions'][number]): boolean {
    return this.envelope?.actions.includes(action) ?? action === 'retry_later'
  }

  /** `Ref: <requestId> · <code> · stage=<stage> · HTTP <status> · up=<upstream_status>`; null where no response arrived. */
  get reference(): string | null {
    if (this.envelope === null) return null
    const { requestId, code, stage, debug } = this.envelope
    const up = debug?.upstreamStatus === undefined ? '' : ` · up=${debug.upstreamStatus}`
    return `Ref: ${requestId} · ${code} · stage=${stage} · HTTP ${this.status}${up}`
  }
}

export function isErrorEnvelope(value: unknown): value is ErrorEnvelope {
  return (
    typeof value === 'object' &&
    value !== null &&
    'ok' in value &&
    value.ok === false &&
    'code' in value &&
    typeof value.code === 'string' &&
    'message' in value &&
    typeof value.message === 'string' &&
    'messageZh' in value &&
    typeof value.messageZh === 'string' &&
    'actions' in value &&
    Array.isArray(value.actions) &&
    'error' in value &&
    typeof value.error === 'object' &&
    value.error !== null
  )
}

interface RequestInput {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: object
}

/** Asks an endpoint of ours. @throws {ApiError} */
export async function callApi<Method extends ApiEndpoint['method'], Path extends ApiEndpoint<Method>['path']>(
  method: Method,
  path: Path,
  ...sent: RequestArguments<ApiEndpoint<Method, Path>>
): Promise<ResponseOf<ApiEndpoint<Method, Path>>>
export async function callApi(
  method: string,
  path: string,
  { params, query = {}, body = {} }: RequestInput = {},
): Promise<unknown> {
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''))
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  const address = search === '' ? place : `${place}?${search}`
  // Times in emails are the reader's.
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const headers = { 'content-type': 'application/json', ...(timeZone === undefined ? {} : { 'x-time-zone': timeZone }) }
  const request = method === 'get' ? {} : { method: method.toUpperCase(), headers, body: JSON.stringify(body) }
  const response = await fetch(address, request).catch(() => {
    throw new ApiError(0, null)
  })
  const value: unknown = await response.json().catch(() => null)
  if (response.ok && value !== null) return value
  throw toApiError(response, value)
}

export function toApiError({ status, headers }: Response, value: unknown): ApiError {
  const retryAfter = Number(headers.get('retry-after')) || null
  const reset = [...headers].find(([name]) => name.endsWith('-quota-reset'))?.[1]
  return new ApiError(
    status,
    isErrorEnvelope(value) ? value : null,
    retryAfter,
    reset === undefined ? null : Number(reset) * 1000,
  )
}
