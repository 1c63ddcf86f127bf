/** What every failure must look like to a caller, whoever rendered it. */
import type { Test } from 'tap'

export interface Envelope {
  readonly ok: false
  readonly requestId: string
  readonly error: { readonly message: string; readonly type: string; readonly code: string; readonly param: string | null }
  readonly message: string
  readonly messageZh: string
  readonly code: string
  readonly stage: string
  readonly actions: readonly string[]
  readonly debug: {
    readonly productModel?: string
    readonly upstreamStatus?: number
    readonly upstreamHost?: string
    readonly quotaRefunded?: boolean
    readonly latencyMs?: number
  }
}

/** Checks a failed response from top to bottom and gives its envelope. */
export async function envelopeOf(
  t: Test,
  response: Response,
  expected: { readonly status: number; readonly code: string; readonly stage?: string },
  name = '',
): Promise<Envelope> {
  const envelope = JSON.parse(await response.text()) as Envelope
  checkEnvelope(t, envelope, name)
  t.equal(response.status, expected.status, `${name}: status`)
  t.equal(envelope.code, expected.code, `${name}: code`)
  if (expected.stage !== undefined) t.equal(envelope.stage, expected.stage, `${name}: stage`)
  t.equal(response.headers.get('x-request-id'), envelope.requestId, `${name}: x-request-id`)
  t.ok(response.headers.get('x-svc-request-id'), `${name}: x-svc-request-id`)
  t.equal(response.headers.get('x-svc-error-code'), envelope.code, `${name}: x-svc-error-code`)
  t.equal(response.headers.get('x-svc-error-stage'), envelope.stage, `${name}: x-svc-error-stage`)
  t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', `${name}: content-type`)
  t.equal(response.headers.get('cache-control'), 'no-store', `${name}: cache-control`)
  return envelope
}

/** The envelope alone, as the last frame of a stream has it. */
export function checkEnvelope(t: Test, envelope: Envelope, name = ''): void {
  t.match(
    envelope,
    {
      ok: false,
      requestId: /^mbr_[A-Za-z0-9._-]+$/,
      error: { message: envelope.message, code: envelope.code, type: /^[a-z_]+$/ },
      message: /./,
      messageZh: /\p{Script=Han}/u,
      stage: /^(auth|rate_limit|validation|quota|upstream|internal|membership)$/,
      actions: [/./],
      debug: {},
    },
    `${name}: the envelope`,
  )
  // A vendor's own words stay as they came; whatever is ours is said in Chinese throughout.
  if (envelope.debug.upstreamStatus === undefined)
    t.notMatch(envelope.messageZh, /(?:\b[a-z]+ ){2}[a-z]+\b/i, `${name}: no English sentence in the Chinese one`)
}
