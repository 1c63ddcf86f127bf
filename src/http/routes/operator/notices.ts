/** Notices as operators see and change them. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  addNotice as addNoticeEndpoint,
  changeNotice as changeNoticeEndpoint,
  endNotice as endNoticeEndpoint,
  listOperatorNotices,
} from '../../../api/operator/notices.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { findNoticeState } from '../../../domain/notice.ts'
import type { Notice } from '../../../domain/notice.ts'
import { addNotice, changeNotice, endNotice, requireNotice } from '../../../services/notice-administration.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { toNotice } from '../notices.ts'
import { toPage } from './to-page.ts'

export function mountNoticeWrites(serve: ServeOperatorEndpoint, services: Services): void {
  const { membership, clock } = services
  const show = (notice: Notice): ResponseOf<typeof addNoticeEndpoint> => ({
    ...toNotice(notice),
    state: findNoticeState(notice, clock.now()),
    created_at: formatInstant(notice.createdAt),
  })

  serve(listOperatorNotices, async ({ query: { cursor, limit } }) => {
    const page = { limit: limit + 1, ...(cursor === undefined ? {} : { before: cursor }) }
    return toPage((await membership.notices.list(page)).map(show), limit)
  })

  serve(addNoticeEndpoint, async ({ body: { kind, en, zh, from, until }, author }) => {
    const startsAt = from == null ? clock.now() : Date.parse(from)
    return show(await addNotice({ kind, text: { en, zh }, startsAt, endsAt: Date.parse(until) }, author, services))
  })

  serve(changeNoticeEndpoint, async ({ params: { id }, body: { kind, en, zh, from, until }, author }) => {
    const notice = await requireNotice(id, services)
    const { text } = notice
    const changes = {
      ...(kind === undefined ? {} : { kind }),
      text: { en: en === undefined ? text.en : en, zh: zh === undefined ? text.zh : zh },
      ...(from === undefined ? {} : { startsAt: Date.parse(from) }),
      ...(until === undefined ? {} : { endsAt: Date.parse(until) }),
    }
    return show(await changeNotice(notice, changes, author, services))
  })

  serve(endNoticeEndpoint, async ({ params: { id }, author }) => show(await endNotice(id, author, services)))
}
