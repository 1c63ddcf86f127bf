/** Notices to all readers: written by operators, and read by every page without asking the store each time. */
import type { AuditWriter } from '../../identity/audit.ts'
import { formatInstant } from '../../instant.ts'
import { maxNoticeChars, maxNoticeDays, maxOpenNotices } from '../../notice.ts'
import type { Notice, NoticeContent } from '../../notice.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface NoticeDeps {
  readonly store: Pick<Store, 'notices'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly writeAudit: AuditWriter
}

/** Why a notice is not written; nothing was changed. */
export type NoticeRefusal = 'no_text' | 'bad_text' | 'ends_before' | 'past_end' | 'too_long' | 'too_many' | 'over' | 'changed'

export type NoticeResult =
  | { readonly kind: 'written'; readonly notice: Notice }
  | { readonly kind: 'refused'; readonly why: NoticeRefusal }

/** How old what pages show may be: a notice is seen on all nodes within seconds. */
const cacheMs = 5_000
const dayMs = 86_400_000

/** Control characters, line ends, and those that turn the direction of the text behind them. */
// eslint-disable-next-line no-control-regex
const unusable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

export class NoticeService {
  readonly #deps: NoticeDeps
  #open: { readonly notices: readonly Notice[]; readonly readAt: number } | null = null
  #reading: Promise<readonly Notice[]> | null = null
  /** Counts this thread's own writes: what was read before one is not kept. */
  #writes = 0

  constructor(deps: NoticeDeps) {
    this.#deps = deps
  }

  /** Those current now, the first to begin first. While the store cannot be read, those read last. */
  async listCurrent(): Promise<readonly Notice[]> {
    const now = this.#deps.clock.now()
    const open = this.#open
    // A clock that was set back makes no copy last longer.
    const isFresh = open !== null && open.readAt <= now && now - open.readAt < cacheMs
    const notices = isFresh ? open.notices : await (this.#reading ??= this.#read())
    return notices.filter(({ startsAt, endsAt }) => startsAt <= now && now < endsAt)
  }

  list(page: { readonly before?: string; readonly limit: number }): Promise<readonly Notice[]> {
    return this.#deps.store.notices.list(page)
  }

  find(id: string): Promise<Notice | undefined> {
    return this.#deps.store.notices.find(id)
  }

  async add(input: NoticeContent, author: OperatorAuthor): Promise<NoticeResult> {
    const { store, clock, ids } = this.#deps
    const at = clock.now()
    const content = roundTimes(input)
    const why = findFault(content, at)
    if (why !== null) return { kind: 'refused', why }
    const notice = { ...content, id: ids.next('ntc_', at), revision: 1, createdAt: at }
    if (!(await store.notices.add(notice, maxOpenNotices))) return { kind: 'refused', why: 'too_many' }
    this.#forget()
    await this.#record('notice_added', notice, describe(notice), author)
    return { kind: 'written', notice }
  }

  /** What is left out stays. A notice that is over stays over, and one that was changed since it was read stays so. */
  async change(earlier: Notice, changes: Partial<NoticeContent>, author: OperatorAuthor): Promise<NoticeResult> {
    const now = this.#deps.clock.now()
    const { kind, text, startsAt, endsAt } = { ...earlier, ...changes }
    const content = roundTimes({ kind, text, startsAt, endsAt })
    const why = earlier.endsAt <= now ? 'over' : findFault(content, now)
    return why === null ? this.#replace(earlier, content, 'notice_changed', author) : { kind: 'refused', why }
  }

  /** Of one that has not begun nothing is ever shown. One that is over stays as it is, and nothing is recorded again. */
  async end(earlier: Notice, author: OperatorAuthor): Promise<Notice> {
    const now = this.#deps.clock.now()
    const { kind, text, startsAt } = earlier
    const content = { kind, text, startsAt: Math.min(startsAt, now), endsAt: now }
    const result = await this.#replace(earlier, content, 'notice_ended', author)
    if (result.kind === 'written') return result.notice
    const current = await this.find(earlier.id)
    return result.why === 'changed' && current !== undefined ? this.end(current, author) : earlier
  }

  async #replace(
    earlier: Notice,
    content: NoticeContent,
    event: 'notice_changed' | 'notice_ended',
    author: OperatorAuthor,
  ): Promise<NoticeResult> {
    const { store, clock } = this.#deps
    const before = describe(earlier)
    const after = describe(content)
    const changedFields = Object.keys(after).filter((name) => after[name] !== before[name])
    if (changedFields.length === 0) return { kind: 'written', notice: earlier }
    const now = clock.now()
    const notice = await store.notices.change(earlier, content, now)
    if (notice === undefined) {
      const current = await this.find(earlier.id)
      return { kind: 'refused', why: current === undefined || current.endsAt <= now ? 'over' : 'changed' }
    }
    this.#forget()
    const detail = Object.fromEntries(
      changedFields.flatMap((name) => [
        [`before_${name}`, before[name] ?? null],
        [name, after[name] ?? null],
      ]),
    )
    await this.#record(event, notice, detail, author)
    return { kind: 'written', notice }
  }

  async #read(): Promise<readonly Notice[]> {
    const { store, clock } = this.#deps
    const writes = this.#writes
    const readAt = clock.now()
    // A page is worth more than its notices, and other reads report the fault.
    const notices = await store.notices.listOpen(readAt).catch(() => this.#open?.notices ?? [])
    if (writes === this.#writes) {
      this.#open = { notices, readAt }
      this.#reading = null
    }
    return notices
  }

  #forget(): void {
    this.#writes += 1
    this.#open = null
    this.#reading = null
  }

  #record(
    event: 'notice_added' | 'notice_changed' | 'notice_ended',
    { id }: Notice,
    detail: Readonly<Record<string, string | null>>,
    author: OperatorAuthor,
  ): Promise<void> {
    return this.#deps.writeAudit(event, null, author.client, { by: 'operator', notice: id, ...detail }, toAuditAuthor(author))
  }
}

/** To whole seconds, as people read and type them. */
function roundTimes({ startsAt, endsAt, ...content }: NoticeContent): NoticeContent {
  const round = (at: number): number => Math.floor(at / 1000) * 1000
  return { ...content, startsAt: round(startsAt), endsAt: round(endsAt) }
}

function findFault({ text, startsAt, endsAt }: NoticeContent, now: number): NoticeRefusal | null {
  const texts = [text.en, text.zh].filter((one) => one !== null)
  if (texts.length === 0) return 'no_text'
  if (texts.some((one) => one.trim() === '' || one.length > maxNoticeChars || unusable.test(one))) return 'bad_text'
  if (endsAt <= startsAt) return 'ends_before'
  if (endsAt <= now) return 'past_end'
  return endsAt - Math.max(startsAt, now) > maxNoticeDays * dayMs || startsAt - now > maxNoticeDays * dayMs ? 'too_long' : null
}

function describe({ kind, text, startsAt, endsAt }: NoticeContent): Readonly<Record<string, string | null>> {
  return { kind, en: text.en, zh: text.zh, from: formatInstant(startsAt), until: formatInstant(endsAt) }
}
