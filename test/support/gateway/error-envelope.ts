/** Checks the envelope of every failure, from the gateway and from plugins. */
import type { Test } from 'tap'

export interface ErrorEnvelope {
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

/** Checks a failed response completely and returns its envelope. */
export async function expectErrorEnvelope(
  t: Test,
  response: Response,
  expected: { readonly status: number; readonly code: string; readonly stage?: string },
  name = '',
): Promise<ErrorEnvelope> {
  const envelope = JSON.parse(await response.text()) as ErrorEnvelope
  checkErrorEnvelope(t, envelope, name)
  t.equal(response.status, expected.status, `${name}: status`)
  t.equal(envelope.code, expected.code, `${name}: code`)
  if (expected.stage !== undefined) t.equal(envelope.stage, expected.stage, `${name}: stage`)
  t.equal(response.headers.get('x-request-id'), envelope.requestId, `${name}: x-request-id`)
  t.ok(response.headers.get('x-svc-request-id'), `${name}: x-svc-request-id`)
  t.equal(response.headers.get('x-svc-error-code'), envelope.code, `${name}: x-svc-error-code`)
  t.equal(response.headers.get('x-svc-error-stage'), envelope.stage, `${name}: x-svc-error-stage`)
  t.match(response.headers.get('link'), /^<https?:\/\/[^>]+\/docs\/errors#\w+>; rel="help"$/, `${name}: link`)
  t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', `${name}: content-type`)
  t.equal(response.headers.get('cache-control'), 'no-store', `${name}: cache-control`)
  return envelope
}

/** Checks the envelope alone, as the last frame of a stream contains it. */
export function checkErrorEnvelope(t: Test, envelope: ErrorEnvelope, name = ''): void {
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
  // A vendor's own message stays unchanged; the gateway's own text is Chinese throughout.
  if (envelope.debug.upstreamStatus === undefined)
    t.notMatch(envelope.messageZh, /(?:\b[a-z]+ ){2}[a-z]+\b/i, `${name}: no English sentence in the Chinese one`)
}
