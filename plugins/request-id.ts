/** Adopts the client's request id. Requests that run no plugins adopt it in the HTTP layer. */
import { adoptRequestId, definePlugin } from '../src/index.ts'

export const requestId = definePlugin({
  name: 'request-id',
  onRequest(x) {
    adoptRequestId(x)
  },
})
