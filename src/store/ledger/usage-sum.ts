/** How sums of usage are written: both databases add an ended turn in the statement that ends it. */

/** Turns are summed by the quarter of an hour in which they began: every time zone's days begin at such a moment. */
export const usageSlotMs = 900_000

const sumColumns = ['turns', 'failed', 'credits', 'input_tokens', 'cached_input_tokens', 'output_tokens'] as const
export const usageSumColumns = ['account', 'starts_at', 'pool', 'model', 'credential', 'api_format', ...sumColumns] as const

/** The end of an insert: adds to the row that is there. */
export const addToUsageSum = `on conflict (account, starts_at, pool, model, credential, api_format)
      do update set ${sumColumns.map((name) => `${name} = usage_sum.${name} + excluded.${name}`).join(', ')}`
