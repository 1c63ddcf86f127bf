/** Keep-alive comments of a stream while its turn waits for something else than its upstream. */
import type { Client } from '../../exchange/client.ts'

/** A client that does not read gets no further comment, which would only be held in memory. */
export async function keepStreamAlive<Result>(client: Client, everyMs: number, work: Promise<Result>): Promise<Result> {
  if (!client.headersSent) return work
  let isReading = true
  const timer = setInterval(() => {
    if (!isReading) return
    isReading = client.write(': keep-alive\n\n')
    if (!isReading) client.onDrain(() => (isReading = true))
  }, everyMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}
