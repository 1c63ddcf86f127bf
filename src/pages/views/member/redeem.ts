/** `/redeem`: shows what a code gives, also that of a link, and redeems it. Opening the page redeems nothing. */
import { TooManyAttempts } from '../../../domain/identity/limits/attempt-limits.ts'
import { parseSpan } from '../../../domain/billing/span.ts'
import type { CodeOutcome } from '../../../domain/services/redeem-code-service.ts'
import { GatewayError } from '../../../errors.ts'
import { requireCodeOutcome } from '../../../services/membership-errors.ts'
import { readText } from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderFacts } from '../../components/list.ts'
import { renderTime } from '../../components/time.ts'
import { formatNumber } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../../page.ts'

const path = '/redeem'
const maxCodeChars = 64

export const redeemActions: Readonly<Record<string, PageAction>> = {
  async inspect(context, form) {
    const code = readText(form, 'code', maxCodeChars)
    return drawPage(context, renderOffer(context, code, await inspect(context, code)))
  },

  async redeem(context, { subject }) {
    const { services, viewer, member } = context
    const outcome = requireCodeOutcome(await services.membership.redeemCodes.redeem(subject, viewer, member.client))
    return drawPage(context, renderDone(context, outcome))
  },
}

export async function createRedeemView(context: PageContext): Promise<View> {
  const { redrawn, query } = context
  const member = requireMember(context)
  const code = (query.get('code') ?? '').slice(0, maxCodeChars)
  if (redrawn !== null || code === '') return drawPage(member, renderEntry(context))
  try {
    return drawPage(member, renderOffer(member, code, await inspect(member, code)))
  } catch (thrown) {
    const failure = toRefusal(thrown)
    const refusedForm = { action: 'inspect', subject: '', fields: new URLSearchParams({ code }), failure }
    return { ...drawPage(member, renderEntry({ ...context, redrawn: refusedForm })), status: failure.status }
  }
}

async function inspect({ services, viewer, member }: MemberContext, code: string): Promise<CodeOutcome> {
  return requireCodeOutcome(await services.membership.redeemCodes.inspect(code, viewer, member.client))
}

function toRefusal(thrown: unknown): GatewayError {
  if (thrown instanceof TooManyAttempts) return new GatewayError('rate_limited', { retryAfter: thrown.retryAfterMs / 1000 })
  if (thrown instanceof GatewayError) return thrown
  throw thrown
}

function drawPage({ t }: MemberContext, content: Html): View {
  return {
    title: t.redeem.title,
    styles: 'sign-in.css',
    main: html`<section class="shell centre">
      <div class="card pad device">
        <h1>${t.redeem.title}</h1>
        ${content}
      </div>
    </section>`,
    script: { name: 'member', texts: {}, props: {} },
  }
}

/** A code that was refused after it was shown stands in the field again. */
function renderEntry(context: PageContext): Html {
  const { redrawn } = context
  const { redeem: texts } = context.t
  const typedFields = redrawn?.action === 'redeem' ? new URLSearchParams({ code: redrawn.subject }) : redrawn?.fields
  const form = new PageForm(
    { ...context, redrawn: redrawn && { ...redrawn, action: 'inspect', subject: '', fields: typedFields ?? redrawn.fields } },
    'inspect',
  )
  const attributes = html`class="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required`
  return form.render({
    path,
    content: html`<p class="lead">${texts.lead}</p>
      ${form.renderField({ name: 'code', label: texts.code, hint: texts.hint, attributes })}
      <div class="form-end"><button class="button block">${texts.next}</button></div>`,
  })
}

function renderOffer(context: MemberContext, code: string, outcome: CodeOutcome): Html {
  const { redeem: texts } = context.t
  return html`<h2 tabindex="-1" autofocus>${texts.givesTitle}</h2>
    ${renderOutcome(context, outcome)}
    ${new PageForm(context, 'redeem', code).render({
      path,
      content: html`<div class="form-end"><button class="button block">${texts.redeem}</button></div>`,
    })}
    <p class="fine"><a href="${path}">${texts.another}</a></p>`
}

function renderDone(context: MemberContext, outcome: CodeOutcome): Html {
  const { redeem: texts } = context.t
  return html`<h2 tabindex="-1" autofocus>${texts.doneTitle}</h2>
    ${renderOutcome(context, outcome)}
    <div class="form-end"><a class="button block" href="/account">${texts.toUsage}</a></div>
    <p class="fine"><a href="${path}">${texts.another}</a></p>`
}

function renderOutcome(context: MemberContext, outcome: CodeOutcome): Html {
  const { viewer, language, t } = context
  const { redeem: texts } = t
  const account = [texts.account, viewer.email ?? viewer.id] as const
  if (outcome.kind === 'credits') {
    const { pool, credits } = outcome.gift
    return html`${renderFacts([
        account,
        [texts.credits, html`<span>${formatNumber(credits, language)} · ${t.account[pool]}</span>`],
        [texts.expires, html`<span>${renderTime(context, outcome.expiresAt)}</span>`],
      ])}
      <p class="sub">${texts.packs}</p>`
  }
  const { gift, startsAt, endsAt, isWaiting, interrupts } = outcome
  return html`${renderFacts([
      account,
      [texts.plan, gift.terms.plan.name],
      [texts.span, formatSpanText(context, gift.span)],
      [texts.starts, isWaiting ? html`<span>${renderTime(context, startsAt)}</span>` : texts.now],
      [texts.ends, html`<span>${renderTime(context, endsAt)}</span>`],
    ])}
    ${isWaiting && html`<p class="sub">${texts.waits}</p>`}
    ${interrupts !== null && html`<p class="sub">${interpolate(texts.interrupts, { plan: interrupts })}</p>`}
    <p class="sub">${texts.windows}</p>`
}

function formatSpanText({ t, language }: PageContext, text: string): string {
  const span = parseSpan(text)
  if (span === undefined || span.unit === 'ms') return text
  const forms = t.redeem.spans[span.unit]
  const form = new Intl.PluralRules(language).select(span.count) === 'one' ? forms.one : forms.other
  return interpolate(form, { count: formatNumber(span.count, language) })
}
