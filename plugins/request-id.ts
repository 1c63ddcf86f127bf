/** Adopts the caller's trace id. It names the request in answers and logs; it never identifies a charge. */
import { definePlugin } from '../src/index.ts'

const acceptable = /^[A-Za-z0-9._-]{1,64}$/

export const requestId = definePlugin({
  name: 'request-id',
  onRequest(x) {
    const sent = x.inbound.headers[x.names.requestIdHeader]
    // Anything else could carry line breaks into logs or another's id into ours; the exchange keeps the id it was born with.
    if (typeof sent !== 'string' || !acceptable.test(sent)) return
    x.echo = sent
    x.id = sent.startsWith('mbr_') ? sent : `mbr_${sent}`
  },
})
