/** Whose credentials changed, in any process: keys revoked, sessions ended, plans and accounts changed. */

export interface Changes {
  /** Accounts that changed after `seq`, oldest first, at most `limit`; and where to go on. */
  since(seq: number, limit: number): Promise<{ readonly seq: number; readonly accounts: readonly string[] }>
  /** The last one there is. */
  latest(): Promise<number>
  /** Forgets all but the last `keep`. */
  sweep(keep: number): Promise<void>
}
