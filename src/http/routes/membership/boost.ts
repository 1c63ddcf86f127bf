/** Boosts: the member's packs, and the check-in and rush packs that a member claims. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { showBoost, takeBoost } from '../../../api/membership/usage.ts'
import type { Account } from '../../../domain/identity/account.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import { getBalance } from '../../../services/member-usage.ts'
import { createBoostUnavailableError } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import { toUsageBoost, toUsageBoosts } from '../../../domain/billing/usage/usage.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountBoostRoutes(
  serve: ServeEndpoint,
  services: Pick<Services, 'calendar' | 'clock' | 'config' | 'ledger' | 'membership' | 'origins'>,
): void {
  const { membership, clock } = services

  serve(showBoost, ({ member: { account } }) => toBoost(account, services))

  serve(takeBoost, async ({ member: { account }, body: { action } }) => {
    await membership.attemptLimits.consume('boost-by-account', account.id, clock.now())
    const pack = await (action === 'checkin' ? membership.boosts.checkIn(account) : membership.boosts.grabRush(account))
    if (pack === undefined) throw createBoostUnavailableError(action)
    return { ok: true, action, pack: toUsageBoost(pack), boost: await toBoost(account, services) }
  })
}

async function toBoost(
  account: Account,
  services: Pick<Services, 'calendar' | 'clock' | 'config' | 'ledger' | 'membership' | 'origins'>,
): Promise<ResponseOf<typeof showBoost>> {
  const { membership, origins } = services
  const { checkin, invite, rush } = await membership.boosts.status(account)
  const packs = toUsageBoosts(await getBalance(account, services))
  const sumRemaining = (tier: Pool): number =>
    packs.filter((pack) => pack.tier === tier).reduce((sum, { remaining }) => sum + remaining, 0)
  const balances = { fast: sumRemaining('fast'), premium: sumRemaining('premium') }
  return {
    balance: balances.fast + balances.premium,
    balances,
    checkin: {
      available: checkin.available,
      next_at: formatInstant(checkin.nextAt),
      credits: checkin.amount.credits,
      tier: checkin.amount.pool,
    },
    invite: {
      code: invite.code,
      url: `${origins.site}/sign-in?invite=${invite.code}`,
      credited: invite.credited,
      limit: invite.limit,
      credits: invite.amount.credits,
      tier: invite.amount.pool,
    },
    rush: {
      active: rush?.active ?? false,
      starts_at: rush === null ? null : formatInstant(rush.startsAt),
      ends_at: rush === null ? null : formatInstant(rush.endsAt),
      remaining: rush?.remaining ?? 0,
      credits: rush?.credits ?? null,
      tier: rush?.pool ?? null,
      taken: rush?.taken ?? false,
    },
    packs,
  }
}
