/** The notices that operators announce, for members' programs and for everyone. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { createListSchema } from './fields.ts'
import { noticeFields } from './operator/notices.ts'

export const listNotices = defineEndpoint({
  method: 'get',
  path: '/v1/notices',
  security: 'public',
  summary: 'Returns the current notices of the operator. It has an `ETag`, and answers 304 where nothing has changed.',
  response: createListSchema(z.strictObject(noticeFields).meta({ id: 'Notice' })),
  otherMediaTypes: { 304: null },
  errors: [],
})
