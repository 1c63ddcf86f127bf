import type { ConfigFingerprint } from './config-fingerprint.ts'

/** How a database shared by several nodes is configured and performs, as far as the nodes' guarantees depend on it. */
export interface DatabaseStatus {
  readonly version: string
  readonly encoding: string
  /** Time of one query and its answer. */
  readonly roundTripMs: number
  /** How far this machine's clock is ahead of the database's. */
  readonly clockAheadMs: number
  /** Whether commits are written to its disk. */
  readonly isDurable: boolean
  /** Whether its disk takes more rows. Null: this role may not try it; missing: a node reads it from its ledger. */
  readonly hasRoom?: boolean | null
  /** Standbys that have every commit before it is acknowledged, and those that follow asynchronously. Null: this role may not read it. */
  readonly standbys: { readonly synchronous: number; readonly asynchronous: number } | null
  /** The number of synchronous standbys without which no commit is acknowledged. */
  readonly requiredStandbys: number
  /** Without the connections reserved for administrators. */
  readonly connections: { readonly available: number; readonly max: number }
  /** Hosts that accept writes: more than one if an old primary has come back. */
  readonly writableHosts: number
  /**
   * Whether an old primary would be recognized by its timeline. `hidden`: the server does not tell it. `pooled`: only when a connection
   * begins, because a pooler may change the server under it.
   */
  readonly oldPrimaryProtection: 'on' | 'hidden' | 'pooled'
  /** A connection pooler stands in front of the server. */
  readonly isPooled: boolean
  /** Live nodes by the version that they run. */
  readonly nodes: readonly { readonly version: string; readonly count: number }[]
  /** Different configurations of live nodes, the most frequent first. */
  readonly configurations: readonly { readonly fingerprint: ConfigFingerprint; readonly count: number }[]
  /** Background jobs of live nodes whose last run found no free connection. */
  readonly jobsWithoutConnection: readonly string[]
}
