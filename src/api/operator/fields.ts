/** Fields that endpoints of the operator API share. */
import { z } from 'zod'
import { maxReasonChars } from '../../domain/services/operators/operator-author.ts'
import { instant, text } from '../fields.ts'

/** Why the operator acts; it is kept in the audit log. */
export const reason = text(maxReasonChars)
  .transform((typed) => typed.trim())
  .pipe(z.string().min(1))

/** The id after which the next page begins, as the page before returned it. */
export const cursor = z
  .string()
  .regex(/^[a-z]{2,4}_[0-9A-Za-z]{1,40}$/)
  .optional()

export const pageLimit = z.coerce.number().int().min(1).max(200).default(50)

/** A page of a list; `next_cursor` is null at its end. */
export function createPageSchema<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ object: z.literal('list'), data: z.array(item), next_cursor: z.string().nullable() })
}

/** A bound of a list: there were no turns before 1970, and days around it have four digits of a year. */
export const boundInstant = instant.regex(/^(?:19[7-9]|[2-8]\d\d)\d/)
