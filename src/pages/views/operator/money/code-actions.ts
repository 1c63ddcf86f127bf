/** What the forms of codes do: make some, which are shown once, and revoke them. */
import { getPlan } from '../../../../domain/billing/catalog/plan.ts'
import type { CodeGift, RedeemCode } from '../../../../domain/billing/redeem-code.ts'
import { formatSpan, parseSpan } from '../../../../domain/billing/span.ts'
import { GatewayError } from '../../../../errors.ts'
import { createErrorInWords, readOptional, readText } from '../../../components/forms/fields.ts'
import { html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorAction, OperatorContext, SubmittedForm, View } from '../../../page.ts'
import { readAuthor } from '../action-form.ts'
import { createOperatorView } from '../operator-frame.ts'
import { moneyPages, renderMoneyTabs } from './money-tabs.ts'

/** `svc-gateway code create` makes more at once, as a file. */
export const maxCodes = 100
const maxUses = 1_000_000
const maxDays = 36_500
const maxCredits = 1e15
const access = { scope: 'money:write', needsStepUp: true } as const

export const codeListActions = {
  make_plan_codes: {
    access,
    async run(context, form) {
      const { services } = context
      const { config, store, clock } = services
      const plan = readText(form, 'plan', 64)
      if (!Object.hasOwn(config.plans, plan) || plan === config.defaultPlan) throw createFault('plan', 'noPlan')
      const span = parseSpan(readText(form, 'span', 12))
      if (span === undefined || span.unit === 'ms') throw createFault('span', 'noSpan')
      const makeGift = async (): Promise<CodeGift> => ({
        kind: 'plan',
        terms: await store.subscriptions.ensureTerms(getPlan(config, plan), clock.now()),
        span: formatSpan(span),
      })
      return makeCodes(context, form, makeGift)
    },
  },

  make_credit_codes: {
    access,
    run(context, form) {
      const pool = form.fields.get('pool') === 'premium' ? 'premium' : 'fast'
      const credits = readWhole(form, 'credits', maxCredits)
      const days = readWhole(form, 'days', maxDays)
      return makeCodes(context, form, async () => ({ kind: 'credits', pool, credits, days }))
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

export const codeActions = {
  revoke: {
    access,
    async run(context, form) {
      const { id } = await findCode(context)
      await context.services.membership.codeAdmin.revoke({ id }, readAuthor(context, form))
      return { path: context.path, done: 'revoked' }
    },
  },

  revoke_batch: {
    access,
    async run(context, form) {
      const { batch, id } = await findCode(context)
      await context.services.membership.codeAdmin.revoke(batch === null ? { id } : { batch }, readAuthor(context, form))
      return { path: context.path, done: 'batch_revoked' }
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

/** The code of the page's address. @throws GatewayError `not_found` */
export async function findCode({ path, services }: OperatorContext): Promise<RedeemCode> {
  const id = path.slice(moneyPages.codes.path.length + 1)
  const code = /^code_\w{1,40}$/.test(id) ? await services.store.redeemCodes.find(id) : undefined
  if (code === undefined) throw new GatewayError('not_found')
  return code
}

/** The gift is made last, because new terms are stored for it. */
async function makeCodes(context: OperatorContext, form: SubmittedForm, makeGift: () => Promise<CodeGift>): Promise<View> {
  const { services } = context
  const count = readWhole(form, 'count', maxCodes)
  const uses = readWhole(form, 'uses', maxUses)
  const expiresAt = readDay(context, form)
  const batch = readOptional(form, 'batch', 64)
  if (batch !== null && !/^[\w.-]{1,64}$/.test(batch)) throw createFault('batch', 'noBatch')
  const author = readAuthor(context, form)
  const order = { gift: await makeGift(), count, maxUses: uses, expiresAt, batch }
  const codes = await services.membership.codeAdmin.create(order, author)
  return drawNewCodes(
    context,
    codes.map(({ code }) => code),
  )
}

/** The only time that they are shown. */
function drawNewCodes(context: OperatorContext, codes: readonly string[]): View {
  const { codes: texts } = context.t.console
  return createOperatorView(context, {
    title: texts.madeTitle,
    lead: texts.madeLead,
    content: html`${renderMoneyTabs(context, 'codes')}
      <section class="card pad">
        <pre class="new-codes" tabindex="0" role="region" aria-label="${texts.madeTitle}"><code>${codes.join('\n')}</code></pre>
        <p><a class="button quiet" href="${moneyPages.codes.path}">${texts.saved}</a></p>
      </section>`,
  })
}

/** The beginning of a day of the operator's calendar; null: no end. @throws GatewayError at the field */
function readDay({ services }: OperatorContext, form: SubmittedForm): number | null {
  const text = readOptional(form, 'expires', 10)
  if (text === null) return null
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? services.calendar.getDayStart(text) : undefined
  if (day === undefined || day <= services.clock.now())
    throw createErrorInWords('invalid_request', 'expires', (t) => t.console.member.futureDay)
  return day
}

/** @throws GatewayError at the field */
function readWhole(form: SubmittedForm, name: string, max: number): number {
  const text = readText(form, name, 20).replaceAll(/[\s,_]/g, '')
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max)
    throw createErrorInWords('invalid_request', name, (t) =>
      interpolate(t.console.codes.noNumber, { max: max.toLocaleString('en-US') }),
    )
  return value
}

function createFault(name: string, fault: 'noPlan' | 'noSpan' | 'noBatch'): GatewayError {
  return createErrorInWords('invalid_request', name, (t) => t.console.codes[fault])
}
