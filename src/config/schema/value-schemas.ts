/** Schemas of single values that several parts of the configuration have. */
import { z } from 'zod'

export const millisecondsSchema = z.int().min(1).max(86_400_000)
export const urlSchema = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))
/** Unchanged to the last character: a trailing slash is part of an address that is requested as it is. */
export const exactUrlSchema = z.url({ protocol: /^https?$/ })
/**
 * Normalized as browsers do (lower case, no default port), because it is compared with theirs. Anything more than an origin is kept and
 * rejected later.
 */
export const originSchema = urlSchema.transform((text) =>
  new URL(text).href === `${new URL(text).origin}/` ? new URL(text).origin : text,
)
export const secretSchema = z.string().min(1, 'is empty')
