/**
 * Emails about purchases that are to be sent. A notice is stored in the transaction of the change that it is about, or once for each
 * announcement, and is deleted or marked when its email was sent, so that no end of a process loses one.
 */
import type { SubscriptionNoticeKind } from '../subscriptions/subscription-notice.ts'

export interface PurchaseNotice {
  readonly account: string
  /** The order or the subscription. */
  readonly about: string
  readonly kind: 'receipt' | 'refunded' | SubscriptionNoticeKind
  /** What is announced: the minor units that are refunded, the terms, or the end of the span. There is one notice of each. */
  readonly subject: string
}

export interface ClaimedPurchaseNotice extends PurchaseNotice {
  readonly createdAt: number
  /** The number of this attempt at sending, from 1 on. */
  readonly attempt: number
}

export interface PurchaseNotices {
  /** Stores a notice that is to be sent, unless it is stored already. */
  record(notice: PurchaseNotice, at: number): Promise<void>
  /**
   * Takes a due notice, of one order if `about` names it. It is due again after `leaseMs`, so that those of a process that ended are sent. A
   * due time more than `maxPauseMs` ahead was computed while the clock was wrong, and has come too.
   */
  claim(query: {
    readonly now: number
    readonly leaseMs: number
    readonly maxPauseMs: number
    readonly about?: string
  }): Promise<ClaimedPurchaseNotice | undefined>
  /** Ends a notice; null: no email was sent. */
  complete(notice: ClaimedPurchaseNotice, sentAt: number | null): Promise<void>
  /** Forgets a notice that is no longer true. */
  remove(notice: ClaimedPurchaseNotice): Promise<void>
  retryAt(notice: ClaimedPurchaseNotice, dueAt: number): Promise<void>
  /** When its email was sent; null where it was not. */
  findSentAt(notice: Omit<PurchaseNotice, 'account'>): Promise<number | null>
  /** Forgets ended notices that were stored before. */
  sweep(before: number): Promise<void>
}
