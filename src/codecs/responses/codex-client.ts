/** Whether a request comes from Codex, which reads statuses and headers in its own way. */
import type { Inbound } from '../../exchange/exchange.ts'

export function isCodex(headers: Inbound['headers']): boolean {
  const { originator } = headers
  return headers['x-codex-window-id'] !== undefined || (typeof originator === 'string' && /^codex/i.test(originator))
}
