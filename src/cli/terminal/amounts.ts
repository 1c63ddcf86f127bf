/** Formats the service's amounts and times for the user. */
import { formatTime, formatZone } from '../../system/terminal/format-time.ts'
import type { Context } from '../context.ts'
import { toFiniteNumber } from '../json.ts'
import { sanitizeLine } from './sanitize-text.ts'

/** A number of credits or tokens, shortened as the website does where it is long (`1.5M`); `–` where it is unknown or unlimited. */
export function formatCount(value: unknown): string {
  const amount = toFiniteNumber(value)
  if (amount === undefined) return '–'
  if (Math.abs(amount) >= 1e6) return `${trimDecimals(amount / 1e6)}M`
  if (Math.abs(amount) >= 1e4) return `${trimDecimals(amount / 1e3)}K`
  return trimDecimals(amount)
}

/** The name of a model's tier or of the pool that pays for it; an unknown one as it was sent. */
export function formatTier({ localize }: Pick<Context, 'localize'>, tier: string | undefined = ''): string {
  if (tier === 'light' || tier === 'fast') return localize({ en: 'Fast', zh: '快速' })
  return tier === 'flagship' || tier === 'premium' ? localize({ en: 'Premium', zh: '高级' }) : sanitizeLine(tier)
}

/** A time in the user's zone: `24 Nov 07:24`. Accepts RFC 3339 text, milliseconds, or seconds since 1970; empty where there is none. */
export function formatTimestamp({ language, now }: Pick<Context, 'language' | 'now'>, value: unknown): string {
  const seconds = toFiniteNumber(value)
  if (seconds === undefined) return typeof value === 'string' ? formatTime(value, language, now()) : ''
  return formatTime(seconds < 1e11 ? seconds * 1000 : seconds, language, now())
}

/** The heading of a column of times, which names their zone. */
export function withZone(heading: string): string {
  return `${heading} (${formatZone(Date.now())})`
}

function trimDecimals(amount: number): string {
  return String(Number(amount.toFixed(amount < 10 ? 2 : 1)))
}
