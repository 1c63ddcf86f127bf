/** Where the member stands: one sentence, the tightest window of each tier, and all windows behind a fold. */
import type { Pool, Usage } from '../../api-types.ts'
import { formatInstant, formatNumber, formatPercent, formatRelativeTime } from '../../format.ts'
import { createElement, getTexts, interpolate, language } from '../../page.ts'
import { createStat } from './stat.ts'

const texts = getTexts('account')
const tiers = ['fast', 'premium'] as const
const windows = ['day', 'week', 'month'] as const
/** From here on a window is shown as nearly used up. */
const warnShare = 0.8
/** Before this part of a month has passed its pace says little. */
const minElapsed = 0.1

export function renderStanding({ pools, boosts }: Usage): Node[] {
  const tightest = tiers
    .map((tier) => pickTightest(pools.filter((pool) => pool.tier === tier)))
    .filter((pool) => pool !== undefined)
    .toSorted((one, other) => toShare(other) - toShare(one))
  const [worst] = tightest
  return [
    createElement(
      'p',
      { class: 'standing-sentence' },
      worst === undefined ? '' : describeStanding(worst, pools, boosts).join(language === 'zh' ? '' : ' '),
    ),
    createElement('div', { class: 'gauges' }, ...tightest.map(renderGauge)),
    createElement(
      'details',
      { class: 'fold' },
      createElement('summary', {}, texts.allWindows),
      createElement('div', { class: 'pools' }, ...tiers.map((tier) => renderTier(tier, pools))),
    ),
  ]
}

function toShare({ limit, used }: Pool): number {
  return limit === 0 ? 0 : used / limit
}

/** A plan may leave a tier out; its windows then have a limit of 0. */
function pickTightest(pools: readonly Pool[]): Pool | undefined {
  return pools.filter(({ limit }) => limit > 0).toSorted((one, other) => toShare(other) - toShare(one))[0]
}

function describeStanding(worst: Pool, pools: readonly Pool[], boosts: Usage['boosts']): string[] {
  const tier = texts[worst.tier]
  const window = texts.windowOf[worst.window]
  const when = formatRelativeTime(worst.resets_at)
  if (worst.remaining <= 0) {
    const inPacks = boosts.reduce((sum, pack) => (pack.tier === worst.tier ? sum + pack.remaining : sum), 0)
    const other = pools.filter((pool) => pool.tier !== worst.tier && pool.limit > 0)
    const otherTier = other[0]?.tier
    const hasRoom = otherTier !== undefined && other.every(({ remaining }) => remaining > 0)
    return [
      interpolate(texts.usedUp, { tier, window, when }),
      ...(inPacks > 0 ? [interpolate(texts.packsPay, { credits: formatNumber(inPacks) })] : []),
      ...(hasRoom ? [interpolate(texts.otherHasRoom, { tier: texts[otherTier] })] : []),
    ]
  }
  const share = toShare(worst)
  if (pools.every(({ used }) => used === 0)) return [texts.nothingUsed]
  const used = interpolate(texts.usedShare, { tier, window, percent: formatPercent(share) })
  if (share >= warnShare) return [used, interpolate(texts.resets, { when })]
  return [used, ...describePace(pools)]
}

/** Whether the months last if they go on like this. */
function describePace(pools: readonly Pool[]): string[] {
  const months = pools.filter(({ window, limit }) => window === 'month' && limit > 0)
  const now = Date.now()
  const ends = months.map((month) => {
    const end = new Date(month.resets_at)
    const start = new Date(month.resets_at)
    start.setUTCMonth(start.getUTCMonth() - 1)
    const elapsed = (now - start.getTime()) / (end.getTime() - start.getTime())
    return elapsed < minElapsed || month.used === 0 ? Infinity : elapsed / toShare(month)
  })
  if (months.length === 0) return []
  return [Math.min(...ends) >= 1 ? texts.monthLasts : texts.monthEndsEarly]
}

function levelOf(pool: Pool): 'full' | 'warn' | 'normal' {
  if (pool.limit > 0 && pool.remaining <= 0) return 'full'
  return toShare(pool) >= warnShare ? 'warn' : 'normal'
}

function renderGauge(pool: Pool): HTMLElement {
  const level = levelOf(pool)
  return createElement(
    'div',
    { class: `card pad gauge ${pool.tier} ${level}` },
    createStat(
      `${texts[pool.tier]} · ${texts[pool.window]}`,
      createElement('strong', {}, formatPercent(Math.min(1, toShare(pool)))),
      ' ',
      createElement('span', { class: 'sub' }, level === 'full' ? texts.usedUpShort : texts.usedWord),
    ),
    renderMeter(pool),
    renderFoot(pool),
  )
}

function renderTier(tier: (typeof tiers)[number], pools: readonly Pool[]): HTMLElement {
  const own = windows.flatMap((window) => pools.filter((pool) => pool.tier === tier && pool.window === window))
  return createElement(
    'section',
    { class: `pool ${tier}`, 'aria-label': texts[tier] },
    createElement('h2', { class: 'row-title' }, texts[tier]),
    ...own.map((pool) =>
      createElement(
        'div',
        { class: `meter-row ${levelOf(pool)}` },
        createElement(
          'p',
          { class: 'meter-head' },
          createElement('span', {}, texts[pool.window]),
          createElement('strong', {}, interpolate(texts.left, { left: formatNumber(pool.remaining) })),
        ),
        renderMeter(pool),
        renderFoot(pool),
      ),
    ),
  )
}

function renderMeter(pool: Pool): HTMLElement {
  const { limit, used, reserved, window } = pool
  const toWidth = (credits: number) => `${limit === 0 ? 100 : Math.min(100, (credits / limit) * 100)}%`
  const usedPart = createElement('i', { class: 'used' })
  const heldPart = createElement('i', { class: 'held' })
  usedPart.style.width = toWidth(used)
  heldPart.style.width = toWidth(reserved)
  return createElement(
    'div',
    {
      class: 'meter',
      role: 'meter',
      'aria-label': `${texts[pool.tier]} · ${texts[window]}`,
      'aria-valuemin': 0,
      'aria-valuemax': Math.max(limit, 1),
      'aria-valuenow': Math.min(used, Math.max(limit, 1)),
      'aria-valuetext': describeUse(pool),
    },
    usedPart,
    heldPart,
  )
}

function renderFoot(pool: Pool): HTMLElement {
  const { reserved, resets_at: resetsAt } = pool
  const held = reserved > 0 ? ` · ${interpolate(texts.heldNow, { held: formatNumber(reserved) })}` : ''
  return createElement(
    'p',
    { class: 'meter-foot' },
    createElement('span', {}, `${describeUse(pool)}${held}`),
    createElement(
      'span',
      { 'data-tip': formatInstant(resetsAt) },
      interpolate(texts.resets, { when: formatRelativeTime(resetsAt) }),
    ),
  )
}

/** A turn may cost more than was left; the rest is a debt of the period. */
function describeUse({ used, limit }: Pool): string {
  const summary = interpolate(texts.usedOf, { used: formatNumber(Math.min(used, limit)), limit: formatNumber(limit) })
  return used > limit ? `${summary} · ${interpolate(texts.overdrawn, { credits: formatNumber(used - limit) })}` : summary
}
