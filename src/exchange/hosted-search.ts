/** Web search that the service runs within a turn: what the request says about it. */

/** The function that the model calls. */
export const hostedSearchFunction = 'web_search'

/** A request cannot raise it: every search is charged, and the client waits for all of them. */
export const maxHostedSearches = 5

export interface HostedSearchOptions {
  /** How many searches the turn may make. */
  readonly maxUses: number
  /** Results of other hosts are left out; empty: all hosts are allowed. */
  readonly allowedDomains: readonly string[]
  readonly blockedDomains: readonly string[]
}
