/** The addresses of a product and an upstream in the console, and of exactly the turns behind a figure. */
import { formatInstant } from '../../../../domain/instant.ts'
import { usageSpans } from '../../../../domain/turn-history/usage-span.ts'
import type { UsageSpan } from '../../../../domain/turn-history/usage-span.ts'
import type { RoutingReport } from '../../../../services/routing/routing-report.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { noTarget, toSearchQuery } from '../turns/turn-search.ts'
import type { SearchValues } from '../turns/turn-search.ts'

const { path } = consoleSections.routing

export function readSpan({ query }: Pick<OperatorContext, 'query'>): UsageSpan {
  return usageSpans.find((span) => span === query.get('span')) ?? 'day'
}

export function toProductPath(id: string, span: UsageSpan): string {
  return `${path}/products/${encodeURIComponent(id)}${span === 'day' ? '' : `?span=${span}`}`
}

export function toUpstreamPath(name: string, span: UsageSpan): string {
  return `${path}/upstreams/${encodeURIComponent(name)}${span === 'day' ? '' : `?span=${span}`}`
}

/** This page over the span that its reader chose, for its forms. */
export function toSamePage({ path: own, query }: Pick<OperatorContext, 'path' | 'query'>): string {
  const span = readSpan({ query })
  return span === 'day' ? own : `${own}?span=${span}`
}

/** `target` null: turns that called no upstream; undefined: whatever they called. */
export interface TurnsBehind {
  readonly product?: string | undefined
  readonly target?: string | null | undefined
  readonly ending?: 'completed' | 'rated' | 'faults'
}

/** A figure with a link to its turns, for operators who may see turns. */
export function renderFigure(
  context: OperatorContext,
  { from, to }: Pick<RoutingReport, 'from' | 'to'>,
  { product, target, ending }: TurnsBehind,
  figure: string | null,
): Html {
  if (figure === null) return html`–`
  if (!hasScope(context, consoleSections.turns.access.scope)) return html`${figure}`
  const values: SearchValues = {
    ...(product === undefined ? {} : { product }),
    ...(target === undefined ? {} : { target: target ?? noTarget }),
    ...(ending === undefined ? {} : { ending }),
    from: formatInstant(from),
    to: formatInstant(to),
  }
  return html`<a href="${consoleSections.turns.path}${toSearchQuery(values)}">${figure}</a>`
}

/** The same page over another span. */
export function renderSpans({ t, path: own }: OperatorContext, chosen: UsageSpan): Html {
  const { routing: texts } = t.console
  return html`<nav class="routing-spans" aria-label="${texts.span}">
    ${usageSpans.map(
      (span) =>
        html`<a class="button quiet small" href="${own}?span=${span}" ${span === chosen && html`aria-current="true"`}
          >${texts.spans[span]}</a
        >`,
    )}
  </nav>`
}
