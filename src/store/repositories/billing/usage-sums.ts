/** Sums of an account's usage; a range of the primary key. */
import type { UsageSums } from '../../../domain/billing/usage/usage.ts'
import type { Database } from '../../database.ts'

export function createUsageSumRepository({ read }: Database): UsageSums {
  return {
    async listSince(account, since) {
      const rows = await read
        .selectFrom('usage_sum')
        .selectAll()
        .where('account', '=', account)
        .where('starts_at', '>=', since)
        .orderBy('starts_at')
        .execute()
      return rows.map((row) => ({
        startsAt: row.starts_at,
        pool: row.pool,
        model: row.model,
        credential: row.credential,
        apiFormat: row.api_format,
        turns: row.turns,
        failed: row.failed,
        credits: row.credits,
        inputTokens: row.input_tokens,
        cachedInputTokens: row.cached_input_tokens,
        outputTokens: row.output_tokens,
      }))
    },
  }
}
