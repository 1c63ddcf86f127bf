/** `/operator/notices`: what is announced to all readers, now, later and before; who may announce adds, changes and ends. */
import { findNoticeState, maxNoticeChars, noticeKinds } from '../../../domain/notice.ts'
import type { Notice, NoticeContent } from '../../../domain/notice.ts'
import { addNotice, changeNotice, endNotice, requireNotice } from '../../../services/notice-administration.ts'
import { renderNoticeHead, renderNoticeText } from '../../components/announcements.ts'
import { createErrorInWords, createFieldError, readOptional } from '../../components/forms/fields.ts'
import type { PageForm } from '../../components/forms/form.ts'
import { renderEmptyState, renderRows } from '../../components/list.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireOperatorContext } from '../../page.ts'
import type { OperatorAction, OperatorContext, PageContext, SubmittedForm, View } from '../../page.ts'
import { readAuthor, renderActionForm } from './action-form.ts'
import { renderCursorPager } from './cursor-pager.ts'
import { createOperatorView } from './operator-frame.ts'
import { consoleSections } from './sections.ts'
import { parseTime } from './turns/parse-time.ts'

const { path } = consoleSections.notices
const pageSize = 30
const maxTimeChars = 64

export const noticeActions = {
  add: {
    access: { scope: 'notices:write' },
    async run(context, form) {
      await addNotice(readContent(context, form, context.services.clock.now()), readAuthor(context, form), context.services)
      return { path, done: 'added' }
    },
  },

  change: {
    access: { scope: 'notices:write' },
    async run(context, form) {
      const notice = await requireNotice(form.subject, context.services)
      const content = readContent(context, form, notice.startsAt)
      // The form has every field, so it would undo what another operator has changed since it was drawn.
      const revisionField = form.fields.get('revision') ?? ''
      const revision = /^\d{1,9}$/.test(revisionField) ? Number(revisionField) : 0
      await changeNotice({ ...notice, revision }, content, readAuthor(context, form), context.services)
      return { path, done: 'changed' }
    },
  },

  end: {
    access: { scope: 'notices:write' },
    async run(context, form) {
      await endNotice(form.subject, readAuthor(context, form), context.services)
      return { path, done: 'ended' }
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

export async function createNoticesView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { notices: texts } = t.console
  const cursor = query.get('before') ?? ''
  const isFirst = !/^ntc_\w{1,40}$/.test(cursor)
  const list = await services.membership.notices.list({ limit: pageSize + 1, ...(isFirst ? {} : { before: cursor }) })
  const shownNotices = list.slice(0, pageSize)
  const last = list.length > pageSize ? shownNotices.at(-1) : undefined
  return createOperatorView(context, {
    title: t.console.sections.notices,
    lead: texts.lead,
    end: renderActionForm(context, {
      actions: noticeActions,
      action: 'add',
      opener: texts.add,
      title: texts.addTitle,
      fields: (form) => renderFields(context, form, null),
    }),
    content: html`<section class="card" aria-label="${t.console.sections.notices}">
      ${shownNotices.length === 0 ? renderEmptyState('list', texts.none) : renderRows(shownNotices, (notice) => renderNotice(context, notice))}
      ${renderCursorPager(context, {
        label: t.console.sections.notices,
        first: path,
        isFirst,
        next: last === undefined ? null : `${path}?before=${last.id}`,
      })}
    </section>`,
  })
}

function renderNotice(context: OperatorContext, notice: Notice): Html {
  const { t, services, language } = context
  const { notices: texts } = t.console
  const { id, text } = notice
  const state = findNoticeState(notice, services.clock.now())
  const subject = interpolate(texts.subject, { state: texts.states[state], text: text[language] ?? text.en ?? text.zh ?? '' })
  const form = { actions: noticeActions, subject: id }
  return html`<li class="log-row">
    <p class="row-line">
      ${renderNoticeHead(context, notice)}
      <span class="badge ${state === 'shown' && 'good'}">${texts.states[state]}</span>
    </p>
    ${text.en !== null && renderNoticeText(context, { ...notice, text: { en: text.en, zh: null } })}
    ${text.zh !== null && renderNoticeText(context, { ...notice, text: { en: null, zh: text.zh } })}
    ${
      state !== 'over' &&
      html`<div class="console-actions">
        ${renderActionForm(context, {
          ...form,
          action: 'change',
          opener: texts.change,
          openerLabel: `${texts.change}: ${subject}`,
          title: texts.changeTitle,
          lead: texts.changeLead,
          fields: (fields) => renderFields(context, fields, notice),
        })}
        ${renderActionForm(context, {
          ...form,
          action: 'end',
          opener: texts.end,
          openerLabel: `${texts.end}: ${subject}`,
          title: texts.endTitle,
          lead: texts.endLead,
          isDanger: true,
        })}
      </div>`
    }
  </li>`
}

function renderFields(context: OperatorContext, form: PageForm, notice: Notice | null): Html {
  const { t, services } = context
  const { notices: texts } = t.console
  const { timeZone } = services.config
  const kinds = noticeKinds.map((kind) => [kind, t.announcements.kinds[kind]] as const)
  const lengthLimit = html`maxlength="${maxNoticeChars}"`
  const time = html`maxlength="${maxTimeChars}" autocomplete="off" spellcheck="false"`
  const show = (at: number | undefined): string => (at === undefined ? '' : formatTypedTime(at, timeZone))
  return html`${notice !== null && html`<input type="hidden" name="revision" value="${form.getValue('revision', String(notice.revision))}" />`}
  ${form.renderSelect('kind', texts.kind, kinds, notice?.kind)}
  ${form.renderTextArea({ name: 'en', label: texts.english, value: notice?.text.en ?? '', hint: texts.englishHint, attributes: lengthLimit })}
  ${form.renderTextArea({ name: 'zh', label: texts.chinese, value: notice?.text.zh ?? '', hint: texts.textHint, attributes: lengthLimit })}
  ${form.renderField({
    name: 'from',
    label: texts.from,
    value: show(notice?.startsAt),
    hint: interpolate(texts.fromHint, { zone: timeZone }),
    attributes: time,
  })}
  ${form.renderField({
    name: 'until',
    label: texts.until,
    value: show(notice?.endsAt),
    hint: texts.untilHint,
    attributes: html`${time} required`,
  })}`
}

function readContent(context: OperatorContext, form: SubmittedForm, startsAt: number): NoticeContent {
  const endsAt = readTime(context, form, 'until')
  if (endsAt === null) throw createFieldError('until', 'missing')
  return {
    kind: noticeKinds.find((kind) => kind === form.fields.get('kind')) ?? 'information',
    text: { en: readNoticeText(form, 'en'), zh: readNoticeText(form, 'zh') },
    startsAt: readTime(context, form, 'from') ?? startsAt,
    endsAt,
  }
}

/** A text field of several lines makes one paragraph. */
function readNoticeText({ fields }: SubmittedForm, name: 'en' | 'zh'): string | null {
  const text = (fields.get(name) ?? '').replaceAll(/\s+/g, ' ').trim()
  if (text.length > maxNoticeChars) throw createFieldError(name, 'tooLong', { max: maxNoticeChars })
  return text === '' ? null : text
}

function readTime({ services }: OperatorContext, form: SubmittedForm, name: 'from' | 'until'): number | null {
  const text = readOptional(form, name, maxTimeChars)
  if (text === null) return null
  const time = parseTime(text, services.config.timeZone)
  if (time.kind === 'good') return time.at
  throw createErrorInWords('invalid_request', name, ({ console: { turns } }) =>
    time.kind === 'no_zone' ? interpolate(turns.noZone, { zone: time.zone }) : turns.noTime,
  )
}

/** `2026-11-29 14:05:30`, as `parseTime` reads it. */
function formatTypedTime(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(at)
}
