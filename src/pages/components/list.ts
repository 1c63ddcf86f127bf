/** Lists of rows, and what stands where a list is empty. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { renderIcon } from './icons.ts'
import type { IconName } from './icons.ts'

/** `renderItem` returns an `li`. */
export function renderRows<Item>(items: readonly Item[], renderItem: (item: Item) => Html): Html {
  return html`<ul class="rows" role="list">
    ${items.map(renderItem)}
  </ul>`
}

/** A picture, one sentence, and at most one action. */
export function renderEmptyState(icon: IconName, text: string, action?: Html): Html {
  return html`<div class="empty-state">
    ${renderIcon(icon)}
    <p>${text}</p>
    ${action}
  </div>`
}

/** Names with their values, which may be left out. */
export function renderFacts(facts: readonly (readonly [name: string, value: Html | string | null])[]): Html {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        value !== null &&
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`
}
