/** Amounts and moments of the service, as people read them. */
import { number } from '../record.ts'

/** An amount of quota: short where it is long (`1.5M`), `–` where it is unknown or has no limit. */
export function credits(value: unknown): string {
  const amount = number(value)
  if (amount === undefined) return '–'
  if (Math.abs(amount) >= 1e6) return `${trim(amount / 1e6)}M`
  if (Math.abs(amount) >= 1e4) return `${trim(amount / 1e3)}k`
  return trim(amount)
}

/** A moment as the reader's own clock has it, to the minute. Takes RFC 3339 text, or milliseconds, or seconds since 1970. */
export function moment(value: unknown): string {
  const date =
    typeof value === 'string'
      ? new Date(value)
      : new Date((number(value) ?? Number.NaN) * ((number(value) ?? 0) < 1e11 ? 1000 : 1))
  if (Number.isNaN(date.getTime())) return ''
  const two = (part: number) => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

function trim(amount: number): string {
  return String(Number(amount.toFixed(amount < 10 ? 2 : 1)))
}
