/** Asking our own API, and what it says when it cannot. */
import { common, language } from './page.ts'
import type { Answers, Envelope } from './wire.ts'

/** A failure as the service told it; `status` 0 where nothing was heard at all. */
export class Failure extends Error {
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

/** What a request says besides its address: `id` is the last part of the path, `body` is sent as JSON. */
export interface Asked {
  readonly id?: string
  readonly body?: Readonly<Record<string, unknown>>
}

/** Asks an endpoint of the membership API. @throws {Failure} */
export function membership<Endpoint extends keyof Answers>(
  endpoint: Endpoint,
  { id, body }: Asked = {},
): Promise<Answers[Endpoint]> {
  const [method = 'GET', path = ''] = endpoint.split(' ')
  return call(method, `/api/membership/${path}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`, body)
}

/** Asks any address of ours. @throws {Failure} */
export async function call<Answer>(method: string, path: string, body: Asked['body'] = {}): Promise<Answer> {
  const request =
    method === 'GET' ? { method } : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(path, request).catch(() => {
    throw new Failure(0, null)
  })
  const value = await response.json().catch(() => null)
  if (response.ok && value !== null) return value
  throw failureOf(response, value)
}

export function failureOf({ status, headers }: Response, value: unknown): Failure {
  const retryAfter = Number(headers.get('retry-after')) || null
  const reset = [...headers].find(([name]) => name.endsWith('-quota-reset'))?.[1]
  return new Failure(status, isEnvelope(value) ? value : null, retryAfter, reset === undefined ? null : Number(reset) * 1000)
}
