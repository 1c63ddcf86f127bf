/**
 * The columns of the FinOps Open Cost and Usage Specification (FOCUS), version 1.2: every mandatory column, the conditional ones that apply,
 * and columns of our own, whose names begin with `x_` as the specification requires. The service is the provider, and a member's account a
 * sub account.
 */
import type { ReportDimension, ReportRow } from '../../../domain/billing/report.ts'
import { zeroSums } from '../../../domain/billing/report.ts'
import type { Calendar } from '../../../domain/billing/period.ts'
import { createCalendar } from '../../../domain/billing/period.ts'
import { formatDollars, isCostKnown } from '../../../domain/billing/report-format.ts'

/** A charge is what one key used of one product through one upstream in one day. */
export const focusDimensions = [
  'day',
  'account',
  'product',
  'plan',
  'upstream',
  'key',
] as const satisfies readonly ReportDimension[]

interface FocusContext {
  readonly calendar: Calendar
  readonly brand: { readonly slug: string; readonly name: string }
}

export function toFocusRecord({ group, day, sums }: ReportRow, { calendar, brand }: FocusContext) {
  if (day === null) throw new Error('a charge belongs to a day')
  const { account = null, product = null, plan = null, upstream = null, key = null } = group
  const month = calendar.getPeriods(day.start).month
  const chargedDollars = formatDollars(sums.credits * 1_000n)
  const tokens = `${sums.inputTokens + sums.outputTokens}`
  const isKnown = isCostKnown(sums)
  return {
    BilledCost: chargedDollars,
    BillingAccountId: brand.slug,
    BillingAccountName: brand.name,
    BillingCurrency: 'USD',
    BillingPeriodEnd: formatUtc(month.end),
    BillingPeriodStart: formatUtc(month.start),
    ChargeCategory: 'Usage',
    ChargeClass: null,
    ChargeDescription: upstream === null ? `${product}` : `${product} through ${upstream}`,
    ChargeFrequency: 'Usage-Based',
    ChargePeriodEnd: formatUtc(day.end),
    ChargePeriodStart: formatUtc(day.start),
    ConsumedQuantity: tokens,
    ConsumedUnit: 'Tokens',
    ContractedCost: chargedDollars,
    EffectiveCost: chargedDollars,
    InvoiceIssuerName: brand.name,
    ListCost: formatDollars(sums.listPrice),
    PricingCategory: 'Standard',
    PricingQuantity: tokens,
    PricingUnit: 'Tokens',
    ProviderName: brand.name,
    PublisherName: brand.name,
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: brand.name,
    ServiceSubcategory: 'Generative AI',
    SkuId: product,
    SubAccountId: account,
    SubAccountName: null,
    SubAccountType: 'Account',
    x_CachedInputTokens: `${sums.cachedInputTokens}`,
    x_Credits: `${sums.credits}`,
    x_FailedTurns: `${sums.failed}`,
    x_InputTokens: `${sums.inputTokens}`,
    x_KeyId: key,
    x_Margin: isKnown ? formatDollars(sums.margin) : null,
    x_OutputTokens: `${sums.outputTokens}`,
    x_Plan: plan,
    x_Turns: `${sums.turns}`,
    x_TurnsWithoutCost: `${sums.turnsWithoutCost}`,
    x_Upstream: upstream,
    x_UpstreamCost: isKnown ? formatDollars(sums.cost) : null,
  }
}

export const focusHeading: readonly string[] = Object.keys(
  toFocusRecord(
    { group: {}, day: { start: 0, end: 1 }, sums: zeroSums },
    { calendar: createCalendar('UTC'), brand: { slug: '', name: '' } },
  ),
)

/** The specification's format of date and time: UTC, without fractions of a second. */
function formatUtc(instant: number): string {
  return new Date(instant).toISOString().replace(/\.\d{3}Z$/, 'Z')
}
