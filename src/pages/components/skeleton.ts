/** What stands in a card until its content is there, in the shape of that content; screen readers get the sentence. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { Texts } from '../texts/en.ts'

/** `figures`: two large numbers side by side; `rows`: lines of a list; `chart`: bars; `text`: a few lines. */
type SkeletonShape = 'figures' | 'rows' | 'chart' | 'text'

const bars: Readonly<Record<SkeletonShape, number>> = { figures: 2, rows: 4, chart: 1, text: 3 }

export function renderSkeleton(t: Texts, shape: SkeletonShape): Html {
  return html`<div class="skeleton skeleton-${shape}">
    <p class="unseen">${t.account.loading}</p>
    ${Array.from({ length: bars[shape] }, () => html`<i></i>`)}
  </div>`
}
