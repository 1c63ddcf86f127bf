/** Notices: what an operator announces to all readers, in one language or two, for a time. */

export const noticeKinds = ['information', 'disturbance', 'maintenance'] as const
export type NoticeKind = (typeof noticeKinds)[number]

/** What an operator writes. */
export interface NoticeContent {
  readonly kind: NoticeKind
  /** Plain text; null where it is not written in this language. At least one is there. */
  readonly text: { readonly en: string | null; readonly zh: string | null }
  readonly startsAt: number
  readonly endsAt: number
}

export interface Notice extends NoticeContent {
  /** `ntc_` + 26 characters, time-sortable. */
  readonly id: string
  /** Counts the changes from 1: who has dismissed a notice sees a changed one again. */
  readonly revision: number
  readonly createdAt: number
}

/** Tells a changed notice from what a reader has seen. */
export function getNoticeVersion({ id, revision }: Pick<Notice, 'id' | 'revision'>): string {
  return `${id}-${revision}`
}

export type NoticeState = 'planned' | 'shown' | 'over'

export function findNoticeState({ startsAt, endsAt }: Pick<NoticeContent, 'startsAt' | 'endsAt'>, now: number): NoticeState {
  if (endsAt <= now) return 'over'
  return startsAt <= now ? 'shown' : 'planned'
}

export const maxNoticeChars = 500
/** Notices that are not over. Each page shows all that are current, so they are few. */
export const maxOpenNotices = 10
export const maxNoticeDays = 366

/** The storage port of notices. */
export interface Notices {
  /** Those whose end is after `now`, the first to begin first. */
  listOpen(now: number): Promise<readonly Notice[]>
  /** Newest first. */
  list(page: { readonly before?: string; readonly limit: number }): Promise<readonly Notice[]>
  find(id: string): Promise<Notice | undefined>
  /** False if `limit` notices are open. */
  add(notice: Notice, limit: number): Promise<boolean>
  /** Replaces the content and counts the revision; undefined for a notice that is over, or has another revision. */
  change(notice: Pick<Notice, 'id' | 'revision'>, content: NoticeContent, now: number): Promise<Notice | undefined>
  /** Deletes those that ended before `at`. */
  sweep(at: number): Promise<void>
}
