/** Signatures as Standard Webhooks describes them: HMAC-SHA256 of id, time and body. */
import { createHmac } from 'node:crypto'

interface SignedMessage {
  readonly id: string
  /** Of this attempt, so that a receiver can refuse old requests. */
  readonly at: number
  readonly body: string
}

/** @param secrets each `whsec_` and base64, or base64 alone; each signs, so that a secret can be changed without a gap */
export function signWebhook({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
