/** What the operator announces: above the content of every page of the site, folded once the reader has dismissed it. */
import { getNoticeVersion } from '../../domain/notice.ts'
import type { Notice, NoticeKind } from '../../domain/notice.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fillText } from '../page.ts'
import type { PageContext } from '../page.ts'
import { renderTime } from './time.ts'

const looks = { information: 'accent', disturbance: 'bad', maintenance: 'warn' } as const satisfies Record<NoticeKind, string>

/** Nothing where nothing is announced. */
export function renderAnnouncements(context: PageContext): Html {
  const { t, announcements, dismissed } = context
  if (announcements.length === 0) return html``
  return html`<aside class="shell announcements" aria-label="${t.announcements.title}">
    ${announcements.map((notice) => {
      const version = getNoticeVersion(notice)
      const isDismissed = dismissed.has(version)
      return html`<details class="announcement" ${!isDismissed && html`open`}>
        <summary>${renderNoticeHead(context, notice)}</summary>
        ${renderNoticeText(context, notice)} ${!isDismissed && renderDismissal(context, version)}
      </details>`
    })}
  </aside>`
}

/** Its kind, and when it holds. */
export function renderNoticeHead(context: PageContext, { kind, startsAt, endsAt }: Notice): Html {
  const { announcements: texts } = context.t
  const isSpan = kind === 'maintenance' || startsAt > context.services.clock.now()
  return html`<span class="badge ${looks[kind]}">${texts.kinds[kind]}</span>
    <span class="announcement-time">
      ${fillText(isSpan ? texts.span : texts.until, { from: renderTime(context, startsAt), until: renderTime(context, endsAt) })}
    </span>`
}

/** In the reader's language, else in the other one, marked as such. Plain text, in which addresses of https are links. */
export function renderNoticeText({ language }: PageContext, { text }: Notice): Html {
  const ownText = text[language]
  const other = language === 'en' ? text.zh : text.en
  const shownText = ownText ?? other ?? ''
  const lang = ownText === null && html`lang="${language === 'en' ? 'zh-CN' : 'en'}"`
  return html`<p class="announcement-text" ${lang}>${renderLinks(shownText)}</p>`
}

/** The address is shown as it is, so that a link leads where it says. */
function renderLinks(text: string): Html {
  return html`${text.split(/(https:\/\/[^\s<>"'`（）()，。；、！？]+)/).map((part, index) => {
    if (index % 2 === 0) return part
    const address = part.replace(/[.,;:!?]+$/, '')
    const url = URL.parse(address)
    // Before an @ stands a name that looks like a host.
    if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return part
    return html`<a class="breakable" href="${url.href}" rel="nofollow noopener noreferrer">${address}</a
      >${part.slice(address.length)}`
  })}`
}

function renderDismissal({ t, query }: PageContext, version: string): Html {
  const search = new URLSearchParams(query)
  search.set('dismiss', version)
  return html`<a class="announcement-end" href="?${search.toString()}" rel="nofollow" data-dismiss>${t.announcements.dismiss}</a>`
}
