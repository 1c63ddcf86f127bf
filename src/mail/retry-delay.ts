/** After a failed attempt, by its number; further ones wait as long as the last. Greylisting usually ends after five minutes. */
const delaysMs = [10_000, 60_000, 300_000, 900_000] as const
/** An email that is of use for less than twice this time gets no further attempt. */
const minDelayMs = 10_000

/**
 * How long an email waits for its next attempt: never longer than half of the time in which it is still of use, so that the last attempts of
 * a short-lived code are close together. Null: it is given up.
 */
export function findRetryDelay(attempt: number, remainingMs: number): number | null {
  const delayMs = Math.min(delaysMs[attempt - 1] ?? delaysMs[3], Math.floor(remainingMs / 2))
  return delayMs < minDelayMs ? null : delayMs
}
