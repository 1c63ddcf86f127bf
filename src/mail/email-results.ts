/**
 * What became of emails. `deferred`: an attempt failed and another one follows. `rejected`: the server refused the email for good.
 * `expired`: it could not be sent while it was of use. `unanswered`: the server took it several times and never answered. `dropped`: the
 * queue had no room, or ended with its process.
 */
export const emailResults = ['sent', 'deferred', 'rejected', 'expired', 'unanswered', 'dropped'] as const
export type EmailResult = (typeof emailResults)[number]

export interface MailStats {
  readonly results: Readonly<Record<EmailResult, number>>
  readonly waiting: number
  readonly oldestWaitingSeconds: number
}
