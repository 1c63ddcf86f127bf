/** `svc-gateway notice …`: texts for all readers of the site. */
import { formatInstant } from '../../domain/instant.ts'
import { findNoticeState, noticeKinds } from '../../domain/notice.ts'
import type { Notice, NoticeContent } from '../../domain/notice.ts'
import type { NoticeResult } from '../../domain/services/operators/notice-service.ts'
import { noticeRefusals } from '../../services/notice-administration.ts'
import { formatZone } from '../../system/terminal/format-time.ts'
import { CommandError, withInstallation } from '../installation.ts'
import type { Installation } from '../installation.ts'
import { formatCellTime, formatMoment, formatTable, renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'
import { parseInstant, parseWholeNumber } from './boost.ts'

interface NoticeOptions extends OutputOptions {
  readonly kind?: string
  readonly en?: string
  readonly zh?: string
  readonly from?: string
  readonly until?: string
  readonly reason?: string
}

const maxListed = 1_000

export function listNotices(options: OutputOptions & { limit: string }): Promise<CommandResult> {
  return withInstallation(async ({ notices, clock }) => {
    const now = clock.now()
    const list = await notices.list({ limit: Math.min(parseWholeNumber('--limit', options.limit), maxListed) })
    return renderResult(options, { object: 'list', data: list.map((notice) => toRecord(notice, now)) }, () =>
      formatTable(
        ['id', 'state', 'kind', `from (${formatZone(now)})`, 'until', 'en', 'zh'],
        list.map((notice) => [
          notice.id,
          findNoticeState(notice, now),
          notice.kind,
          formatCellTime(notice.startsAt, now),
          formatCellTime(notice.endsAt, now),
          notice.text.en,
          notice.text.zh,
        ]),
      ),
    )
  })
}

export function addNotice(options: NoticeOptions & { kind: string; until: string }): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { notices, clock, createAuthor } = installation
    const { kind, startsAt = clock.now(), endsAt = startsAt } = parseChanges(options, installation)
    const text = { en: toText(options.en), zh: toText(options.zh) }
    const content = { kind: kind ?? 'information', text, startsAt, endsAt }
    const notice = requireWritten(await notices.add(content, createAuthor(options.reason)))
    return renderNotice(options, notice, clock.now(), (when) => `Notice ${notice.id} was added; it is shown ${when}.`)
  })
}

/** An empty text removes that of its language. */
export function changeNotice(id: string, options: NoticeOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { notices, clock, createAuthor } = installation
    const earlierNotice = await requireNotice(id, installation)
    const { en = earlierNotice.text.en ?? undefined, zh = earlierNotice.text.zh ?? undefined } = options
    const changes = { ...parseChanges(options, installation), text: { en: toText(en), zh: toText(zh) } }
    const notice = requireWritten(await notices.change(earlierNotice, changes, createAuthor(options.reason)))
    return renderNotice(options, notice, clock.now(), (when) => `Notice ${id} is shown ${when}.`)
  })
}

export function endNotice(id: string, options: OutputOptions & { reason?: string }): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { notices, clock, createAuthor } = installation
    const notice = await notices.end(await requireNotice(id, installation), createAuthor(options.reason))
    return renderNotice(options, notice, clock.now(), () => `Notice ${id} is over.`)
  })
}

async function requireNotice(id: string, { notices }: Installation): Promise<Notice> {
  const notice = await notices.find(id)
  if (notice === undefined) throw new CommandError(`There is no notice '${id}'. See: svc-gateway notice list`)
  return notice
}

function requireWritten(result: NoticeResult): Notice {
  if (result.kind === 'written') return result.notice
  const { en } = noticeRefusals[result.why]
  throw new CommandError(en.charAt(0).toUpperCase() + en.slice(1))
}

function parseChanges(
  { kind, from, until }: NoticeOptions,
  { clock, calendar }: Installation,
): Partial<Pick<NoticeContent, 'kind' | 'startsAt' | 'endsAt'>> {
  const knownKind = noticeKinds.find((each) => each === kind)
  if (kind !== undefined && knownKind === undefined)
    throw new CommandError(`--kind must be one of ${noticeKinds.join(', ')}, not '${kind}'.`)
  const now = clock.now()
  return {
    ...(knownKind === undefined ? {} : { kind: knownKind }),
    ...(from === undefined ? {} : { startsAt: parseInstant('--from', from, now, calendar) }),
    ...(until === undefined ? {} : { endsAt: parseInstant('--until', until, now, calendar) }),
  }
}

function toText(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text.trim()
}

function renderNotice(options: OutputOptions, notice: Notice, now: number, toSentence: (when: string) => string): CommandResult {
  return renderResult(options, toRecord(notice, now), () =>
    toSentence(`from ${formatMoment(notice.startsAt, now)} until ${formatMoment(notice.endsAt, now)}`),
  )
}

function toRecord(notice: Notice, now: number): Record<string, unknown> {
  const { id, kind, text, startsAt, endsAt, revision, createdAt } = notice
  return {
    id,
    state: findNoticeState(notice, now),
    kind,
    text,
    from: formatInstant(startsAt),
    until: formatInstant(endsAt),
    revision,
    created_at: formatInstant(createdAt),
  }
}
