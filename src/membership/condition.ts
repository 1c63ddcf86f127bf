/** How a database that several nodes share is set up, and how it does, as far as their promises depend on it. */
export interface Condition {
  readonly version: string
  /** Of one question, and its answer. */
  readonly roundTripMs: number
  /** How far this machine's clock is ahead of the database's. */
  readonly clockAheadMs: number
  /** Whether what it commits is on its disk. */
  readonly isDurable: boolean
  /** Standbys that have all that was committed before it is acknowledged; those that follow behind. Null: this user may not know. */
  readonly standbys: { readonly synchronous: number; readonly behind: number } | null
  /** Without so many synchronous standbys no commit is acknowledged. */
  readonly waitsFor: number
  /** Those that are kept for its administrators not among them. */
  readonly connections: { readonly left: number; readonly most: number }
  /** Another program hands transactions on to the server. */
  readonly isPooled: boolean
  /** Nodes that are alive, by the version that they run. */
  readonly nodes: readonly { readonly version: string; readonly count: number }[]
}
