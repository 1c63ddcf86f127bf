/** Asking our own API, and what it says when it cannot. */
import type { AnswerOf } from '../../api/endpoint.ts'
import { common, language } from './page.ts'
import type { Envelope, Known, Sent } from './wire.ts'

/** A failure as the service told it; `status` 0 where nothing was heard at all. */
export class CallFailure extends Error {
  readonly status: number
  readonly envelope: Envelope | null
  /** Seconds. */
  readonly retryAfter: number | null
  /** When used-up quota comes back, in milliseconds; null where that is not what is missing. */
  readonly resetsAt: number | null

  constructor(status: number, envelope: Envelope | null, retryAfter: number | null = null, resetsAt: number | null = null) {
    super(envelope === null ? common.offline : language === 'zh' ? envelope.messageZh : envelope.message)
    this.status = status
    this.envelope = envelope
    this.retryAfter = retryAfter
    this.resetsAt = resetsAt
  }

  get code(): string | null {
    return this.envelope?.code ?? null
  }

  /** `Ref: <requestId> · <code> · stage=<stage> · HTTP <status> · up=<upstream_status>`; null where nothing was heard. */
  get reference(): string | null {
    if (this.envelope === null) return null
    const { requestId, code, stage, debug } = this.envelope
    const up = debug?.upstreamStatus === undefined ? '' : ` · up=${debug.upstreamStatus}`
    return `Ref: ${requestId} · ${code} · stage=${stage} · HTTP ${this.status}${up}`
  }
}

export function isEnvelope(value: unknown): value is Envelope {
  return (
    typeof value === 'object' &&
    value !== null &&
    'ok' in value &&
    value.ok === false &&
    'code' in value &&
    typeof value.code === 'string'
  )
}

/** Asks an endpoint of ours. @throws {CallFailure} */
export async function call<Method extends Known['method'], Path extends Known<Method>['path']>(
  method: Method,
  path: Path,
  ...sent: Sent<Known<Method, Path>>
): Promise<AnswerOf<Known<Method, Path>>>
export async function call(
  method: string,
  path: string,
  { params, body = {} }: { readonly params?: Readonly<Record<string, string>>; readonly body?: object } = {},
): Promise<unknown> {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''))
  const request =
    method === 'get'
      ? {}
      : { method: method.toUpperCase(), headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(address, request).catch(() => {
    throw new CallFailure(0, null)
  })
  const value: unknown = await response.json().catch(() => null)
  if (response.ok && value !== null) return value
  throw failureOf(response, value)
}

export function failureOf({ status, headers }: Response, value: unknown): CallFailure {
  const retryAfter = Number(headers.get('retry-after')) || null
  const reset = [...headers].find(([name]) => name.endsWith('-quota-reset'))?.[1]
  return new CallFailure(status, isEnvelope(value) ? value : null, retryAfter, reset === undefined ? null : Number(reset) * 1000)
}
