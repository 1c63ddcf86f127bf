/** The client's own request id. It names a request in responses and logs; it never identifies a charge. */
import type { Exchange, Inbound } from './exchange.ts'

/** Anything else could put line breaks into logs, or imitate another id. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** Uses the client's id if it is valid; otherwise the exchange keeps its generated id. */
export function adoptRequestId(
  x: Pick<Exchange, 'id' | 'responseRequestId' | 'names'> & { readonly inbound: Pick<Inbound, 'headers'> },
): void {
  const sentId = x.inbound.headers[x.names.requestIdHeader]
  if (typeof sentId !== 'string' || !requestIdPattern.test(sentId)) return
  x.responseRequestId = sentId
  x.id = toExchangeId(sentId)
}

/** The id under which an exchange was recorded, from that id or the client's own; null if none can be that. */
export function parseRecordedId(id: string): string | null {
  const ownId = id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id
  return requestIdPattern.test(ownId) || requestIdPattern.test(id) ? toExchangeId(id) : null
}

const idPrefix = 'mbr_'

function toExchangeId(id: string): string {
  return id.startsWith(idPrefix) ? id : `${idPrefix}${id}`
}
