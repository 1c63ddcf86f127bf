/** `/operator/money/codes`: codes by state, newest first, and the forms that make new ones. */
import type { RedeemCode } from '../../../../domain/billing/redeem-code.ts'
import { codeStates } from '../../../../domain/billing/sale-lists.ts'
import type { CodeState } from '../../../../domain/billing/sale-lists.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import type { PageForm } from '../../../components/forms/form.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderActionForm, renderFutureDays } from '../action-form.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { createOperatorView } from '../operator-frame.ts'
import { codeListActions, maxCodes } from './code-actions.ts'
import { nameGift, renderCodeState } from './code-text.ts'
import { moneyPages, renderMoneyTabs } from './money-tabs.ts'

const { path } = moneyPages.codes
const pageSize = 50

export async function createCodesView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { codes: texts } = t.console
  const state = codeStates.find((each) => each === query.get('state'))
  const cursor = query.get('before') ?? ''
  const isFirst = !/^code_\w{1,40}$/.test(cursor)
  const codes = await services.store.saleLists.listCodes({
    limit: pageSize + 1,
    now: services.clock.now(),
    ...(state === undefined ? {} : { state }),
    ...(isFirst ? {} : { before: cursor }),
  })
  const shownCodes = codes.slice(0, pageSize)
  const next = codes.length > pageSize ? shownCodes.at(-1)?.id : undefined
  return createOperatorView(context, {
    title: texts.title,
    lead: texts.lead,
    content: html`${renderMoneyTabs(context, 'codes')} ${renderForms(context)} ${renderFilter(context, state)}
      <section class="card">
        ${shownCodes.length === 0 ? renderEmptyState('list', texts.none) : renderTable(context, shownCodes)}
        ${renderCursorPager(context, {
          label: texts.title,
          first: toAddress(state),
          isFirst,
          next: next === undefined ? null : toAddress(state, next),
        })}
      </section>`,
  })
}

function toAddress(state: CodeState | undefined, before?: string): string {
  const values = { state: state ?? '', before: before ?? '' }
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''))
  return query.size === 0 ? path : `${path}?${query}`
}

function renderForms(context: OperatorContext): Html {
  const { t, services } = context
  const { codes: texts, member } = t.console
  const plans = Object.entries(services.config.plans)
    .filter(([id]) => id !== services.config.defaultPlan)
    .map(([id, { name }]) => [id, name] as const)
  const pools = (['fast', 'premium'] as const).map((pool) => [pool, t.account[pool]] as const)
  const wholeNumberAttributes = html`inputmode="numeric" autocomplete="off" maxlength="20" required`
  const day = renderFutureDays(context)
  const renderShared = (form: PageForm): Html =>
    html`${form.renderField({ name: 'count', label: texts.count, value: '1', hint: interpolate(texts.countHint, { max: maxCodes }), attributes: wholeNumberAttributes })}
    ${form.renderField({ name: 'uses', label: texts.uses, value: '1', hint: texts.usesHint, attributes: wholeNumberAttributes })}
    ${form.renderField({ name: 'expires', label: texts.expires, type: 'date', hint: texts.expiresHint, attributes: day })}
    ${form.renderField({ name: 'batch', label: texts.batch, hint: texts.batchHint, attributes: html`autocomplete="off" maxlength="64"` })}`
  return html`<div class="console-actions">
    ${
      plans.length > 0 &&
      renderActionForm(context, {
        actions: codeListActions,
        action: 'make_plan_codes',
        opener: texts.makePlan,
        title: texts.makePlan,
        lead: texts.makeLead,
        fields: (form) =>
          html`${form.renderSelect('plan', member.plan, plans)}
          ${form.renderField({ name: 'span', label: texts.span, value: '1mo', hint: texts.spanHint, attributes: html`autocomplete="off" maxlength="12" required` })}
          ${renderShared(form)}`,
      })
    }
    ${renderActionForm(context, {
      actions: codeListActions,
      action: 'make_credit_codes',
      opener: texts.makeCredits,
      title: texts.makeCredits,
      lead: texts.makeLead,
      fields: (form) =>
        html`${form.renderSelect('pool', member.pool, pools)}
        ${form.renderField({ name: 'credits', label: member.credits, hint: texts.creditsHint, attributes: wholeNumberAttributes })}
        ${form.renderField({ name: 'days', label: texts.days, value: '365', hint: texts.daysHint, attributes: wholeNumberAttributes })}
        ${renderShared(form)}`,
    })}
  </div>`
}

function renderFilter({ t }: OperatorContext, state: CodeState | undefined): Html {
  return html`<form class="card pad filter-row" method="get" action="${path}">
    <div class="field">
      <label for="state">${t.orders.state}</label>
      <select id="state" name="state">
        <option value="">${t.console.audit.anyEvent}</option>
        ${codeStates.map(
          (each) => html`<option value="${each}" ${each === state && html`selected`}>${t.console.codes.states[each]}</option>`,
        )}
      </select>
    </div>
    <button class="button">${t.console.audit.show}</button>
  </form>`
}

function renderTable(context: OperatorContext, codes: readonly RedeemCode[]): Html {
  const { t, language } = context
  const { codes: texts } = t.console
  return renderDataTable({
    label: texts.title,
    columns: [
      { title: texts.code },
      { title: texts.gives },
      { title: texts.used, isNumber: true },
      { title: t.orders.state },
      { title: texts.batch },
      { title: texts.made },
    ],
    rows: codes.map((code) => ({
      cells: [
        html`<a href="${path}/${code.id}"><code>${code.prefix}…</code></a>`,
        html`<span class="breakable">${nameGift(context, code.gift)}</span>`,
        html`${interpolate(texts.usedOf, { uses: formatNumber(code.uses, language), max: formatNumber(code.maxUses, language) })}`,
        renderCodeState(context, code),
        html`<span class="breakable">${code.batch ?? '–'}</span>`,
        renderTime(context, code.createdAt, 'date'),
      ],
    })),
  })
}
