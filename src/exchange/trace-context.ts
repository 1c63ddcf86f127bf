/** The trace context of a client (W3C `traceparent`): it connects the client's trace with our log line and with the upstream's trace. */
import type { Inbound } from './exchange.ts'

const pattern = /^(?!ff)[\da-f]{2}-((?!0{32})[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/

/** The header if it is valid; anything else could put other text into logs and requests. */
export function readTraceparent({ headers }: Pick<Inbound, 'headers'>): string | undefined {
  const traceparent = headers['traceparent']
  return typeof traceparent === 'string' && pattern.test(traceparent) ? traceparent : undefined
}

export function readTraceId(inbound: Pick<Inbound, 'headers'>): string | undefined {
  return pattern.exec(readTraceparent(inbound) ?? '')?.[1]
}
