/** Notices: what operators announce to all readers. */
import { z } from 'zod'
import { maxNoticeChars, noticeKinds } from '../../domain/notice.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count, instant, optionalText } from '../fields.ts'
import { createPageSchema, cursor, pageLimit, reason } from './fields.ts'

const kind = z.enum(noticeKinds)

export const noticeFields = {
  id: z.string(),
  kind,
  text: z.strictObject({ en: z.string().nullable(), zh: z.string().nullable() }).meta({
    description:
      'Plain text in each language; null where it is not written, and then the other one is shown. At least one is there.',
  }),
  from: instant,
  until: instant,
  revision: count.meta({ description: 'Counts the changes from 1.' }),
} as const

const notice = z
  .strictObject({ ...noticeFields, state: z.enum(['planned', 'shown', 'over']), created_at: instant })
  .meta({ id: 'OperatorNotice' })

const text = optionalText(maxNoticeChars)
const shared = { security: 'operator', failureFormat: 'problem' } as const

export const listOperatorNotices = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/notices',
  operator: { scope: null },
  summary: 'Lists notices, newest first: those that are shown, planned, and over.',
  query: z.object({ cursor, limit: pageLimit }),
  response: createPageSchema(notice),
  errors: [],
})

export const addNotice = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/notices',
  operator: { scope: 'notices:write' },
  summary: 'Adds a notice for all readers, in one language or both.',
  body: z.object({
    kind,
    en: text,
    zh: text,
    from: instant.nullish().meta({ description: 'Now, if it is left out.' }),
    until: instant,
    reason,
  }),
  status: 201,
  response: notice,
  errors: [],
})

export const changeNotice = defineEndpoint({
  ...shared,
  method: 'patch',
  path: '/api/operator/v1/notices/{id}',
  operator: { scope: 'notices:write' },
  summary: 'Changes a notice that is not over. What is left out stays; readers who dismissed it see it again.',
  body: z.object({
    kind: kind.optional(),
    en: text.optional().meta({ description: 'Null or empty removes the text of this language.' }),
    zh: text.optional().meta({ description: 'Null or empty removes the text of this language.' }),
    from: instant.optional(),
    until: instant.optional(),
    reason,
  }),
  response: notice,
  errors: [],
})

export const endNotice = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/notices/{id}/end',
  operator: { scope: 'notices:write' },
  summary: 'Ends a notice now; of one that has not begun nothing is shown.',
  body: z.object({ reason }),
  response: notice,
  errors: [],
})
