/** The caller's own trace id. It names a request in answers and logs; it never identifies a charge. */
import type { Exchange, Inbound } from './exchange.ts'

/** Anything else could carry line breaks into logs, or another's id into ours. */
const acceptable = /^[A-Za-z0-9._-]{1,64}$/

/** Where an acceptable one was sent, the exchange goes by it from here on; else it keeps the id it was born with. */
export function adoptId(x: Pick<Exchange, 'id' | 'echo' | 'names'> & { readonly inbound: Pick<Inbound, 'headers'> }): void {
  const sent = x.inbound.headers[x.names.requestIdHeader]
  if (typeof sent !== 'string' || !acceptable.test(sent)) return
  x.echo = sent
  x.id = sent.startsWith('mbr_') ? sent : `mbr_${sent}`
}
