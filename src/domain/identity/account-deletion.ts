/**
 * Deletions of accounts that wait until a payment provider has confirmed that it charges no more. From the request on the account is
 * disabled: it has no sessions, and its keys and sign-ins are refused.
 */
import type { Reader } from './reader.ts'

export interface WaitingDeletion {
  readonly account: string
  readonly requestedAt: number
  /** How often the provider was asked in vain. */
  readonly attempts: number
  /** How the member reads the email that confirms the deletion. */
  readonly reader: Reader
}

export interface WaitingDeletions {
  readonly count: number
  readonly oldestRequestedAt: number | null
}

export interface AccountDeletions {
  /**
   * Disables the account, ends its sessions and stores the deletion, unless it is stored already. False for an account that is deleted.
   * @throws LastOwnerError for the last active owner
   */
  request(account: string, request: { readonly at: number; readonly dueAt: number; readonly reader: Reader }): Promise<boolean>
  find(account: string): Promise<WaitingDeletion | undefined>
  /** A due time more than `maxPauseMs` ahead was computed while the clock was wrong, and has come too. */
  listDue(now: number, limit: number, maxPauseMs: number): Promise<readonly WaitingDeletion[]>
  /** Counts an attempt, and names the time of the next one. */
  postpone(account: string, dueAt: number): Promise<void>
  summarize(): Promise<WaitingDeletions>
}
