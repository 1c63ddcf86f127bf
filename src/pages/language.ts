/** Which language a reader is answered in: what they chose here before, else what their browser asks for. */
import type { Context } from 'koa'

const languages = ['en', 'zh'] as const
export type Language = (typeof languages)[number]

export function isLanguage(value: unknown): value is Language {
  return value === 'en' || value === 'zh'
}

/** The first of our languages that a request's `Accept-Language` (RFC 9110, 12.5.4) has a wish for; English when it has none for either. */
export function preferredLanguage(ctx: Pick<Context, 'acceptsLanguages'>): Language {
  const wanted = ctx.acceptsLanguages([...languages])
  return isLanguage(wanted) ? wanted : 'en'
}
