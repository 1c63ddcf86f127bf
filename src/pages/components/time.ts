/** Moments. The server writes them in the service's time zone; `browser/components/local-times.ts` replaces them by the reader's. */
import { formatPastTime } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageContext } from '../page.ts'

/** `17 Nov 2026, 14:05`, or the day alone. */
export function renderTime({ locale, services }: PageContext, at: number, style: 'instant' | 'date' = 'instant'): Html {
  const options = { dateStyle: 'medium', timeZone: services.config.timeZone } as const
  const format = new Intl.DateTimeFormat(locale, style === 'date' ? options : { ...options, timeStyle: 'short' })
  return html`<time class="nowrap" datetime="${new Date(at).toISOString()}" data-time="${style}">${format.format(at)}</time>`
}

/** `2 days ago`. */
export function renderPastTime(context: PageContext, at: number): Html {
  return html`<time class="nowrap" datetime="${new Date(at).toISOString()}">${formatPastTime(context, at)}</time>`
}
