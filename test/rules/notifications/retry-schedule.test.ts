/** When a delivery is tried again. */
import t from 'tap'
import { findNextAttempt, maxDeliveryAgeMs } from '../../../src/notifications/retry-schedule.ts'

const hourMs = 3_600_000

function listAttempts(random: number): number[] {
  const at = [0]
  for (let next: number | null = 0; next !== null;) {
    next = findNextAttempt({ createdAt: 0, attempt: at.length, now: at.at(-1) ?? 0, retryAfterMs: null, random })
    if (next !== null) at.push(next)
  }
  return at
}

t.test('attempts are frequent in the first hour and end after three days', async (t) => {
  for (const random of [0, 0.5, 0.999]) {
    const attempts = listAttempts(random)
    t.ok(attempts.filter((at) => at < hourMs).length >= 6, `${attempts.length} attempts`)
    t.equal(attempts.at(-1), maxDeliveryAgeMs)
    t.ok(attempts.every((at, index) => index === 0 || at > (attempts[index - 1] ?? 0)))
  }
})

t.test('a receiver may ask for a later attempt, for six hours at most', async (t) => {
  const find = (retryAfterMs: number) => findNextAttempt({ createdAt: 0, attempt: 1, now: 0, retryAfterMs, random: 0 })
  t.equal(find(1_000), 5_000)
  t.equal(find(60_000), 60_000)
  t.equal(find(1e12), 6 * hourMs)
})
