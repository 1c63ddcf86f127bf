/** The port of the queue in which emails wait until they are sent: in a folder of this machine, or in a database where other nodes send them too. */
import type { EmailContent } from './templates/email-templates.ts'

/**
 * In the order of sending. Each has room of its own, so that none fills another's: codes of members first, then codes for addresses without
 * an account, which strangers can request without end, then notices.
 */
export const emailPriorities = ['member_code', 'new_address_code', 'notice'] as const
export type EmailPriority = (typeof emailPriorities)[number]

/** How many emails of a priority may wait. More are refused: the mail server is down or too slow. */
export const maxQueued = { member_code: 1_000, new_address_code: 500, notice: 500 } as const satisfies Record<
  EmailPriority,
  number
>
/**
 * How many emails to one address may wait, so that no account fills the room of all. A further one takes the place of the oldest that is not
 * more important: of several codes the newest is the one that its recipient needs.
 */
export const maxQueuedPerRecipient = 20

export interface Email extends EmailContent {
  /** Null: no recipient. It waits like any other, so that the client that caused it learns nothing, and is not sent. */
  readonly to: string | null
  readonly priority: EmailPriority
  /** How long it is of use to its recipient: a code and a link expire. It is tried until then. */
  readonly usefulMs: number
}

export interface ClaimedEmail {
  readonly id: number
  readonly email: Email
  /** The number of this attempt at sending, from 1 on. */
  readonly attempt: number
  /** How long the email was still of use when it was claimed. */
  readonly remainingMs: number
}

export interface EnqueueResult {
  readonly isQueued: boolean
  /** Whether it took the place of an older email to the same address. */
  readonly hasReplaced: boolean
  /** The priorities that had no room before, whatever the priority of this email: an answer made of them reveals nothing about it. */
  readonly full: readonly EmailPriority[]
}

export interface QueueListener {
  /** An email may be due. */
  onDue(): void
  /** Emails were deleted because they are of no use any more. */
  onExpired(count: number): void
}

export interface WaitingEmails {
  readonly count: number
  /** How long the oldest has waited; 0 if none waits. */
  readonly oldestMs: number
}

export interface EmailQueue {
  /** Number of due emails that are lost if this process ends now. */
  readonly pendingCount: number
  /** All emails that are not sent yet, wherever they wait; of a database as of the last poll. */
  readonly waiting: WaitingEmails
  start(listener: QueueListener): void
  /** Stores an email if its priority has room and its recipient too, or an older email to replace. It is stored when this resolves. */
  enqueue(email: Email): Promise<EnqueueResult>
  /** Claims the due email of the highest priority, if any; no other caller gets it meanwhile. `memberCodesOnly` skips the others. */
  claim(options?: { readonly memberCodesOnly: boolean }): Promise<ClaimedEmail | undefined>
  /** The email was sent or given up. */
  complete(claimed: ClaimedEmail): Promise<void>
  /** Makes the email due again after `delayMs`. False if it is not kept: the process ends, and its emails with it. */
  retryLater(claimed: ClaimedEmail, delayMs: number): Promise<boolean>
  /** Stops calling the listener. */
  close(): Promise<void>
}

export const noListener: QueueListener = { onDue: () => undefined, onExpired: () => undefined }

/** An email in the queue of one process. Instants are of the wall clock, as those of the codes in the emails. */
export interface QueuedEmail {
  readonly email: Email
  readonly queuedAt: number
  readonly expiresAt: number
  attempt: number
  dueAt: number
}
