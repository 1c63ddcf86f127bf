/** Keeps a stream alive while its turn waits for something else than its upstream. */
import type { Clock } from '../../system/clock.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import { createHeartbeat } from '../../exchange/response-headers.ts'

/** A client that does not read gets no further comment, which would only be held in memory. */
export async function keepStreamAlive<Result>(
  callContext: Pick<CallContext, 'client' | 'encoder'>,
  { clock, everyMs }: { readonly clock: Clock; readonly everyMs: number },
  work: Promise<Result>,
): Promise<Result> {
  const { client } = callContext
  if (!client.headersSent) return work
  let isReading = true
  const timer = clock.every(everyMs, () => {
    if (!isReading) return
    isReading = client.write(createHeartbeat(callContext))
    if (!isReading) client.onDrain(() => (isReading = true))
  })
  try {
    return await work
  } finally {
    timer.cancel()
  }
}
