/** Accounts whose credentials changed in any process: revoked keys, ended sessions, changed plans and accounts. */

export interface CredentialChanges {
  /** Accounts that changed after `seq`, oldest first, at most `limit`, and the `seq` to continue from. */
  listSince(seq: number, limit: number): Promise<{ readonly seq: number; readonly accounts: readonly string[] }>
  /** The newest sequence number. */
  getLatestSeq(): Promise<number>
  /** Deletes all but the last `keepCount` changes. */
  sweep(keepCount: number): Promise<void>
}
