/** Adopts the caller's trace id (what stands outside of a chain has it adopted at the door). */
import { adoptId, definePlugin } from '../src/index.ts'

export const requestId = definePlugin({
  name: 'request-id',
  onRequest(x) {
    adoptId(x)
  },
})
