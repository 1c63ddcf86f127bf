/** When a delivery is tried again: often within the first hour, then for three days. */

const minuteMs = 60_000
const hourMs = 60 * minuteMs

export const maxDeliveryAgeMs = 72 * hourMs
/** Later deliveries of an account wait for an earlier one for this long: the retries of the first hour. */
export const orderedMs = hourMs

/** After each attempt, by its number; further ones wait as long as the last. */
const delaysMs = [
  5_000,
  30_000,
  2 * minuteMs,
  10 * minuteMs,
  20 * minuteMs,
  25 * minuteMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  12 * hourMs,
] as const
/** The last attempts of many deliveries must not come at one moment. */
const maxSpread = 0.1
const maxRetryAfterMs = 6 * hourMs

interface FailedAttempt {
  readonly createdAt: number
  readonly attempt: number
  readonly now: number
  readonly retryAfterMs: number | null
  /** Random number, 0 ≤ n < 1. */
  readonly random: number
}

/** The instant of the next attempt; null: the delivery has failed. The last attempt is at the end of the three days. */
export function findNextAttempt({ createdAt, attempt, now, retryAfterMs, random }: FailedAttempt): number | null {
  const endsAt = createdAt + maxDeliveryAgeMs
  if (now >= endsAt) return null
  const delayMs = Math.round((delaysMs[attempt - 1] ?? delaysMs[9]) * (1 + random * maxSpread))
  return Math.min(endsAt, now + Math.max(delayMs, Math.min(retryAfterMs ?? 0, maxRetryAfterMs)))
}
