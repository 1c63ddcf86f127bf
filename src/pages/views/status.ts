/** `/status`: how each product did in the last day and month, for members, where the operator shows it. */
import { GatewayError } from '../../errors.ts'
import { minStatusAccounts, minStatusTurns, statusSpans } from '../../services/health/service-status.ts'
import type { ServiceStatus, StatusFigures } from '../../services/health/service-status.ts'
import { renderDataTable } from '../components/data-table.ts'
import { renderEmptyState } from '../components/list.ts'
import { renderTime } from '../components/time.ts'
import { formatNumber, formatPercent } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fillText, interpolate } from '../page.ts'
import type { PageContext, View } from '../page.ts'

/** The days of the longer span, where the ledger keeps as many. */
const monthDays = 30

export async function createStatusView(context: PageContext): Promise<View> {
  const { t, services } = context
  if (!services.config.site.status) throw new GatewayError('not_found')
  const status = await services.serviceStatus.read()
  return {
    title: t.status.title,
    description: t.status.lead,
    styles: 'status.css',
    main: html`<div class="shell status-page">
      <header class="page-head">
        <div>
          <h1>${t.status.title}</h1>
          <p class="lead">${t.status.lead}</p>
        </div>
      </header>
      ${renderProducts(context, status)}
    </div>`,
  }
}

function renderProducts(context: PageContext, { products, completeAt }: ServiceStatus): Html {
  const { t, language, services } = context
  const { status: texts } = t
  const days = Math.min(monthDays, services.config.store.keepTurnsForDays)
  const titles = { day: texts.lastDay, month: interpolate(texts.lastDays, { days }) }
  const rule = interpolate(texts.rule, {
    turns: formatNumber(minStatusTurns, language),
    accounts: formatNumber(minStatusAccounts, language),
  })
  return html`${
      products.length === 0
        ? html`<section class="card">${renderEmptyState('list', texts.noProducts)}</section>`
        : statusSpans.map(
            (span) =>
              html`<section class="card">
                <div class="card-head pad-head"><h2>${titles[span]}</h2></div>
                ${renderDataTable({
                  label: titles[span],
                  columns: [
                    { title: texts.product },
                    { title: texts.success, isNumber: true },
                    { title: texts.firstToken, isNumber: true },
                  ],
                  rows: products.map(({ name, spans }) => ({
                    cells: [
                      html`<span class="breakable">${name}</span>`,
                      renderShare(context, spans[span]),
                      renderFirstToken(context, spans[span]),
                    ],
                  })),
                })}
              </section>`,
          )
    }
    <p class="sub">
      ${completeAt === null ? texts.beingMade : fillText(texts.asOf, { time: renderTime(context, completeAt) })} ${texts.counted}
      ${rule}
    </p>`
}

function renderShare(context: PageContext, figures: StatusFigures | null): Html {
  if (figures === null) return renderTooFew(context)
  return html`${formatPercent(figures.share, context.language)}`
}

function renderFirstToken(context: PageContext, figures: StatusFigures | null): Html {
  if (figures === null || figures.firstTokenMs === null) return renderTooFew(context)
  return html`${formatNumber(figures.firstTokenMs / 1000, context.language)} s`
}

function renderTooFew({ t }: PageContext): Html {
  return html`<span class="sub" title="${t.status.tooFew}">–<span class="unseen">${t.status.tooFew}</span></span>`
}
