/** Planner settings of the ledger queue's connections. */

/**
 * Every ledger statement finds its rows by key, so it is planned once, for index access, also while its tables are still empty.
 * (A table that was analysed while empty would be taken for empty; a new schema is not analysed.)
 */
export const plannerSettings = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}
