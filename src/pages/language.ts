/** The language of a response: the reader's earlier choice, else the browser's preference. */
import type { Context } from 'koa'

const languages = ['en', 'zh'] as const
export type Language = (typeof languages)[number]

export function isLanguage(value: unknown): value is Language {
  return value === 'en' || value === 'zh'
}

/** The reader's region of a language, as the first fitting entry of `Accept-Language` names it. */
export function negotiateLocale(ctx: Pick<Context, 'acceptsLanguages'>, language: Language): string {
  const fallback = language === 'zh' ? 'zh-CN' : 'en-US'
  const acceptedTag = ctx.acceptsLanguages().find((tag) => new RegExp(`^${language}(?:-|$)`, 'i').test(tag))
  if (acceptedTag === undefined || acceptedTag.length === language.length) return fallback
  try {
    return Intl.getCanonicalLocales(acceptedTag)[0] ?? fallback
  } catch {
    return fallback
  }
}

/** The first of our languages that a request's `Accept-Language` (RFC 9110, 12.5.4) has a wish for; English when it has none for either. */
export function negotiateLanguage(ctx: Pick<Context, 'acceptsLanguages'>): Language {
  const acceptedLanguage = ctx.acceptsLanguages([...languages])
  return isLanguage(acceptedLanguage) ? acceptedLanguage : 'en'
}
