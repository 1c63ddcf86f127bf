/** What is left for the chosen model's tier, beside the composer, and what turns cost. */
import { callApi } from '../api-client.ts'
import type { Pool, Turn } from '../api-types.ts'
import { formatNumber } from '../format.ts'
import { createElement, findElement, getTexts, interpolate } from '../page.ts'

const texts = getTexts('chat')
const node = findElement('[data-balance]', HTMLElement)
/** A turn that was stopped is settled shortly after. */
const settleWaitMs = 700
const maxLooks = 5

let usage: { readonly pools: readonly Pool[]; readonly boosts: Readonly<Record<Pool['tier'], number>> } | null = null

/** Loads what is left. Returns the credits of the turn once it has ended; null where they are not known. */
export async function refreshBalance(requestId: string | null): Promise<number | null> {
  for (let look = 0; look < maxLooks; look++) {
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, settleWaitMs))
    const loadedUsage = await callApi('get', '/api/membership/usage').catch(() => null)
    // The answer stands without it.
    if (loadedUsage === null) return null
    const boosts = { fast: 0, premium: 0 }
    for (const { tier, remaining } of loadedUsage.boosts) boosts[tier] += remaining
    usage = { pools: loadedUsage.pools, boosts }
    const turn: Turn | undefined = loadedUsage.turns.find(({ request_id: id }) => id === requestId)
    if (requestId === null || (turn !== undefined && turn.state !== 'held')) return turn?.credits ?? null
  }
  return null
}

/** Shows the window of the tier that is closest to its end. */
export function showBalance(tier: Pool['tier']): void {
  const pools = usage?.pools.filter((pool) => pool.tier === tier && pool.limit > 0) ?? []
  const [tightest] = pools.toSorted((one, other) => one.remaining / one.limit - other.remaining / other.limit)
  if (usage === null || tightest === undefined) return void (node.textContent = '')
  const { window, remaining, limit } = tightest
  const boosts = usage.boosts[tier]
  const remainingText = interpolate(texts.left[window], {
    tier: texts.tiers[tier],
    remaining: formatNumber(Math.max(0, remaining)),
    limit: formatNumber(limit),
  })
  node.textContent = remainingText
  const packs = interpolate(texts.leftBoosts, { credits: formatNumber(boosts) })
  if (boosts > 0) node.append(createElement('span', { class: 'balance-packs' }, ` · ${packs}`))
  node.dataset['level'] = remaining <= 0 ? 'empty' : remaining <= limit / 5 ? 'low' : 'fine'
}
