/** What Codex reads of a member's usage. */
import t from 'tap'
import { toCodexUsageHeaders } from '../../../../src/http/response/codex-usage-headers.ts'
import type { PoolBalance } from '../../../../src/domain/billing/ledger.ts'

const balance = (pool: PoolBalance['pool'], window: PoolBalance['window'], used: number, limit = 1000): PoolBalance => ({
  pool,
  window,
  limit,
  used,
  reserved: 0,
  remaining: limit - used,
  debt: 0,
  resetsAt: 1_795_000_000_001,
})

t.test('has the day and the week of the pool, and never 90 percent', async (t) => {
  for (const [used, percent] of [
    [0, '0'],
    [9, '0'],
    [255, '25'],
    [899, '89'],
    [900, '89'],
    [5000, '89'],
  ] as const)
    t.same(
      toCodexUsageHeaders([balance('premium', 'day', 1), balance('fast', 'day', used), balance('fast', 'week', 100)], 'fast'),
      {
        'x-codex-primary-used-percent': percent,
        'x-codex-primary-window-minutes': '1440',
        'x-codex-primary-reset-at': '1795000001',
        'x-codex-secondary-used-percent': '10',
        'x-codex-secondary-window-minutes': '10080',
        'x-codex-secondary-reset-at': '1795000001',
      },
      String(used),
    )
})

t.test('has no headers of a pool without credits', async (t) => {
  t.same(toCodexUsageHeaders([balance('fast', 'day', 0, 0)], 'fast'), {})
})
