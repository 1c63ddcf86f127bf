/** What operators announce, for the operator API, the console and the commands alike: refusals in words, and at the field that caused them. */
import type { Notice, NoticeContent } from '../domain/notice.ts'
import { maxNoticeChars, maxNoticeDays, maxOpenNotices } from '../domain/notice.ts'
import type { NoticeRefusal, NoticeResult } from '../domain/services/operators/notice-service.ts'
import type { OperatorAuthor } from '../domain/services/operators/operator-author.ts'
import { GatewayError, invalidRequest } from '../errors.ts'
import type { Services } from './services.ts'

type NoticeServices = Pick<Services, 'membership'>

export async function requireNotice(id: string, { membership }: NoticeServices): Promise<Notice> {
  const notice = await membership.notices.find(id)
  if (notice === undefined) throw new GatewayError('not_found')
  return notice
}

export async function addNotice(content: NoticeContent, author: OperatorAuthor, services: NoticeServices): Promise<Notice> {
  return requireWritten(await services.membership.notices.add(content, author))
}

export async function changeNotice(
  notice: Notice,
  changes: Partial<NoticeContent>,
  author: OperatorAuthor,
  services: NoticeServices,
): Promise<Notice> {
  return requireWritten(await services.membership.notices.change(notice, changes, author))
}

export async function endNotice(id: string, author: OperatorAuthor, services: NoticeServices): Promise<Notice> {
  return services.membership.notices.end(await requireNotice(id, services), author)
}

function requireWritten(result: NoticeResult): Notice {
  if (result.kind === 'written') return result.notice
  const { param, ...message } = noticeRefusals[result.why]
  if (param === null) throw new GatewayError('conflict', { message, shouldRetry: false })
  throw invalidRequest(message, param)
}

/** `param`: the field; null: the state of the notices refuses it. */
export const noticeRefusals: Readonly<
  Record<NoticeRefusal, { readonly en: string; readonly zh: string; readonly param: 'en' | 'from' | 'until' | null }>
> = {
  no_text: { en: 'a notice needs a text in English or in Chinese.', zh: '公告需要英文或中文内容。', param: 'en' },
  bad_text: {
    en: `a text has 1 to ${maxNoticeChars} characters, on one line and without control characters.`,
    zh: `内容应为 1 至 ${maxNoticeChars} 个字符，写在一行内，且不含控制字符。`,
    param: 'en',
  },
  ends_before: { en: 'a notice must end after it begins.', zh: '结束时间必须晚于开始时间。', param: 'until' },
  past_end: { en: 'the end of a notice must be in the future.', zh: '结束时间必须在将来。', param: 'until' },
  too_long: {
    en: `a notice begins and ends within ${maxNoticeDays} days.`,
    zh: `公告须在 ${maxNoticeDays} 天内开始并结束。`,
    param: 'until',
  },
  too_many: {
    en: `There are ${maxOpenNotices} notices that are not over. End one first; nothing was added.`,
    zh: `已有 ${maxOpenNotices} 条未结束的公告。请先结束一条；未添加任何内容。`,
    param: null,
  },
  over: {
    en: 'This notice is over. Add a new one; nothing was changed.',
    zh: '该公告已结束。请添加新的公告；未做任何更改。',
    param: null,
  },
  changed: {
    en: 'This notice was changed meanwhile. Open the page again and look at it; nothing was changed.',
    zh: '该公告已被修改。请重新打开页面查看；未做任何更改。',
    param: null,
  },
}
