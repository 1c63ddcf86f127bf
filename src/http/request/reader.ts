/** How the person behind a request reads: the choice on the website, else the browser's preference; the site and `svc` send the time zone. */
import type { Context } from 'koa'
import { parseTimeZone } from '../../domain/identity/reader.ts'
import type { Reader } from '../../domain/identity/reader.ts'
import { isLanguage, negotiateLanguage } from '../../pages/language.ts'
import type { Language } from '../../pages/language.ts'
import { isTheme } from '../../pages/theme.ts'
import type { Theme } from '../../pages/theme.ts'
import { listCookieValues } from './cookie.ts'

interface NamedServices {
  readonly names: { readonly slug: string }
}

export function readReader(ctx: Context, services: NamedServices): Reader {
  const header = ctx.get('accept-language')
  // Programs send `*`, which is no language.
  const preferredLanguage = header === '' || header === '*' ? null : negotiateLanguage(ctx)
  return { language: readLanguageCookie(ctx, services) ?? preferredLanguage, timeZone: parseTimeZone(ctx.get('x-time-zone')) }
}

/** The colours that the reader has chosen on the website. */
export function readThemeCookie(ctx: Context, { names }: NamedServices): Theme {
  const [theme] = listCookieValues(ctx.headers.cookie, `${names.slug}_theme`)
  return isTheme(theme) ? theme : 'auto'
}

/** The notices that the reader has dismissed, by their versions. */
export function readDismissedNotices(ctx: Context, { names }: NamedServices): readonly string[] {
  const [versions = ''] = listCookieValues(ctx.headers.cookie, `${names.slug}_dismissed`)
  return versions.slice(0, 1000).split('.').filter(isNoticeVersion)
}

export function isNoticeVersion(value: unknown): value is string {
  return typeof value === 'string' && /^ntc_[0-9A-Za-z]{26}-[1-9]\d{0,8}$/.test(value)
}

/** The language is no credential: of two cookies either will do. */
export function readLanguageCookie(ctx: Context, { names }: NamedServices): Language | null {
  const [language] = listCookieValues(ctx.headers.cookie, `${names.slug}_language`)
  return isLanguage(language) ? language : null
}
