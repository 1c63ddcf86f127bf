/** The `fetch` that providers use: bounded in time, in the size of an answer and in the depth of its JSON, and without redirects. */
import { createCheckedFetch } from '../access/checked-fetch.ts'
import type { Clock } from '../system/clock.ts'
import '../system/vendor/undici-fetch.ts'

/** Of one request, its answer included. A member waits for it. */
const timeoutMs = 10_000

export function createPaymentFetch(clock: Pick<Clock, 'deadline'>): typeof globalThis.fetch {
  const fetchWithDeadline: typeof globalThis.fetch = (address, init) => {
    const deadline = clock.deadline(timeoutMs)
    const signal = init?.signal == null ? deadline : AbortSignal.any([init.signal, deadline])
    // A redirect could lead the secret key elsewhere.
    return fetch(address, { ...init, signal, redirect: 'error' })
  }
  return createCheckedFetch(fetchWithDeadline)
}
