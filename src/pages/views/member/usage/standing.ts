/** Where the member stands: one sentence, the tightest window of each tier, and all windows behind a fold. */
import type { Balance, Pack, PoolBalance } from '../../../../domain/billing/ledger.ts'
import { renderStat } from '../../../components/stat.ts'
import { formatNumber, formatPercent, formatRelativeTime } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { PageContext } from '../../../page.ts'

const tiers = ['fast', 'premium'] as const
const windows = ['day', 'week', 'month'] as const
/** From here on a window is shown as nearly used up. */
const warnShare = 0.8
/** Before this part of a month has passed its pace says little. */
const minElapsed = 0.1

export function renderStanding(context: PageContext, { pools, packs }: Balance): Html {
  const { account: texts } = context.t
  const tightest = tiers
    .map((tier) => pickTightest(pools.filter(({ pool }) => pool === tier)))
    .filter((pool) => pool !== undefined)
    .toSorted((one, other) => toShare(other) - toShare(one))
  const [worst] = tightest
  const sentences = worst === undefined ? [] : describeStanding(context, worst, pools, packs)
  return html`<p class="standing-sentence">${sentences.join(context.language === 'zh' ? '' : ' ')}</p>
    <div class="gauges">${tightest.map((pool) => renderGauge(context, pool))}</div>
    <details class="fold">
      <summary>${texts.allWindows}</summary>
      <div class="pools">${tiers.map((tier) => renderTier(context, tier, pools))}</div>
    </details>`
}

function toShare({ limit, used }: PoolBalance): number {
  return limit === 0 ? 0 : used / limit
}

/** A plan may leave a tier out; its windows then have a limit of 0. */
function pickTightest(pools: readonly PoolBalance[]): PoolBalance | undefined {
  return pools.filter(({ limit }) => limit > 0).toSorted((one, other) => toShare(other) - toShare(one))[0]
}

function describeStanding(
  context: PageContext,
  worst: PoolBalance,
  pools: readonly PoolBalance[],
  packs: readonly Pack[],
): string[] {
  const { account: texts } = context.t
  const tier = texts[worst.pool]
  const window = texts.windowOf[worst.window]
  const when = formatRelativeTime(context, worst.resetsAt)
  if (worst.remaining <= 0) {
    const inPacks = packs.reduce(
      (sum, { pool, granted, reserved, settled }) => (pool === worst.pool ? sum + granted - reserved - settled : sum),
      0,
    )
    const other = pools.filter(({ pool, limit }) => pool !== worst.pool && limit > 0)
    const otherTier = other[0]?.pool
    const hasRoom = otherTier !== undefined && other.every(({ remaining }) => remaining > 0)
    return [
      interpolate(texts.usedUp, { tier, window, when }),
      ...(inPacks > 0 ? [interpolate(texts.packsPay, { credits: formatNumber(inPacks, context.language) })] : []),
      ...(hasRoom ? [interpolate(texts.otherHasRoom, { tier: texts[otherTier] })] : []),
    ]
  }
  if (pools.every(({ used }) => used === 0)) return [texts.nothingUsed]
  const share = toShare(worst)
  const usedShareText = interpolate(texts.usedShare, { tier, window, percent: formatPercent(share, context.language) })
  return [usedShareText, ...(share >= warnShare ? [interpolate(texts.resets, { when })] : describePace(context, pools))]
}

/** Whether the months last if they go on like this. */
function describePace({ t, services }: PageContext, pools: readonly PoolBalance[]): string[] {
  const months = pools.filter(({ window, limit }) => window === 'month' && limit > 0)
  const now = services.clock.now()
  const ends = months.map((month) => {
    const start = new Date(month.resetsAt)
    start.setUTCMonth(start.getUTCMonth() - 1)
    const elapsedShare = (now - start.getTime()) / (month.resetsAt - start.getTime())
    return elapsedShare < minElapsed || month.used === 0 ? Infinity : elapsedShare / toShare(month)
  })
  if (months.length === 0) return []
  return [Math.min(...ends) >= 1 ? t.account.monthLasts : t.account.monthEndsEarly]
}

function getLevel(pool: PoolBalance): 'full' | 'warn' | 'normal' {
  if (pool.limit > 0 && pool.remaining <= 0) return 'full'
  return toShare(pool) >= warnShare ? 'warn' : 'normal'
}

function renderGauge(context: PageContext, pool: PoolBalance): Html {
  const { account: texts } = context.t
  const level = getLevel(pool)
  const share = html`<strong>${formatPercent(Math.min(1, toShare(pool)), context.language)}</strong>
    <span class="sub">${level === 'full' ? texts.usedUpShort : texts.usedWord}</span>`
  return html`<div class="card pad gauge ${pool.pool} ${level}">
    ${renderStat(`${texts[pool.pool]} · ${texts[pool.window]}`, share)} ${renderMeter(context, pool)} ${renderFoot(context, pool)}
  </div>`
}

function renderTier(context: PageContext, tier: (typeof tiers)[number], pools: readonly PoolBalance[]): Html {
  const { account: texts } = context.t
  const tierPools = windows.flatMap((window) => pools.filter((pool) => pool.pool === tier && pool.window === window))
  return html`<section class="pool ${tier}" aria-label="${texts[tier]}">
    <h2 class="row-title">${texts[tier]}</h2>
    ${tierPools.map(
      (pool) =>
        html`<div class="meter-row ${getLevel(pool)}">
          <p class="meter-head">
            <span>${texts[pool.window]}</span>
            <strong>${interpolate(texts.left, { left: formatNumber(pool.remaining, context.language) })}</strong>
          </p>
          ${renderMeter(context, pool)} ${renderFoot(context, pool)}
        </div>`,
    )}
  </section>`
}

function renderMeter(context: PageContext, pool: PoolBalance): Html {
  const { account: texts } = context.t
  const { limit, used, reserved, window } = pool
  const max = Math.max(limit, 1)
  const toWidth = (credits: number): number => (limit === 0 ? 100 : Math.min(100, (credits / limit) * 100))
  return html`<div
    class="meter"
    role="meter"
    aria-label="${texts[pool.pool]} · ${texts[window]}"
    aria-valuemin="0"
    aria-valuemax="${max}"
    aria-valuenow="${Math.min(used, max)}"
    aria-valuetext="${describeUse(context, pool)}"
  >
    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="held" width="${Math.min(100, toWidth(used) + toWidth(reserved))}" height="1" />
      <rect class="used" width="${toWidth(used)}" height="1" />
    </svg>
  </div>`
}

function renderFoot(context: PageContext, pool: PoolBalance): Html {
  const { account: texts } = context.t
  const { reserved, resetsAt } = pool
  const heldText = reserved > 0 ? ` · ${interpolate(texts.heldNow, { held: formatNumber(reserved, context.language) })}` : ''
  return html`<p class="meter-foot">
    <span>${describeUse(context, pool)}${heldText}</span>
    <span>${interpolate(texts.resets, { when: formatRelativeTime(context, resetsAt) })}</span>
  </p>`
}

/** A turn may cost more than was left; the rest is a debt of the period. */
function describeUse({ t, language }: PageContext, { used, limit }: PoolBalance): string {
  const amounts = { used: formatNumber(Math.min(used, limit), language), limit: formatNumber(limit, language) }
  const summary = interpolate(t.account.usedOf, amounts)
  if (used <= limit) return summary
  return `${summary} · ${interpolate(t.account.overdrawn, { credits: formatNumber(used - limit, language) })}`
}
