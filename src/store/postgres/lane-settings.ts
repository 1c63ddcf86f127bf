/** How a connection of the lane's has its statements planned. */

/**
 * Every statement of the ledger finds its rows by a key, for as many as it is given: so it is to be planned, once, also while its tables are
 * still empty. (A table that was analysed while it was empty would be taken for empty: a new schema is not.)
 */
export const settings = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}
