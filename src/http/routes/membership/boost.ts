/** Boosts: what there is, and the two that a member takes by asking. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { showBoost, takeBoost } from '../../../api/membership/usage.ts'
import { GatewayError } from '../../../errors.ts'
import type { Account } from '../../../membership/account.ts'
import { instant } from '../../../membership/instant.ts'
import type { Pool } from '../../../membership/product.ts'
import type { Services } from '../../../gateway/services.ts'
import { toUsageBoost, toUsageBoosts } from '../../../membership/usage.ts'
import type { Serve } from '../../serve.ts'
import { balanceOf } from './balance.ts'

export function boostRoutes(serve: Serve, services: Services): void {
  const { membership, clock } = services

  serve(showBoost, ({ member: { account } }) => toBoost(account, services))

  serve(takeBoost, async ({ member: { account }, body: { action } }) => {
    await membership.allowances.take('boost-by-account', account.id, clock.now())
    const pack = await (action === 'checkin' ? membership.boosts.checkIn(account) : membership.boosts.grabRush(account))
    if (pack === undefined) throw unavailable(action)
    return { ok: true, action, pack: toUsageBoost(pack), boost: await toBoost(account, services) }
  })
}

async function toBoost(account: Account, services: Services): Promise<AnswerOf<typeof showBoost>> {
  const { membership, origins } = services
  const { checkin, invite, rush } = await membership.boosts.status(account)
  const packs = toUsageBoosts(await balanceOf(account, services))
  const left = (tier: Pool): number =>
    packs.filter((pack) => pack.tier === tier).reduce((sum, { remaining }) => sum + remaining, 0)
  const balances = { fast: left('fast'), premium: left('premium') }
  return {
    balance: balances.fast + balances.premium,
    balances,
    checkin: {
      available: checkin.available,
      next_at: instant(checkin.nextAt),
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
      starts_at: rush === null ? null : instant(rush.startsAt),
      ends_at: rush === null ? null : instant(rush.endsAt),
      remaining: rush?.remaining ?? 0,
      credits: rush?.credits ?? null,
      tier: rush?.pool ?? null,
      taken: rush?.taken ?? false,
    },
    packs,
  }
}

function unavailable(action: 'checkin' | 'rush_grab'): GatewayError {
  return new GatewayError('boost_unavailable', {
    message:
      action === 'checkin'
        ? { en: 'You have checked in today. Come back tomorrow.', zh: '今天已签到,请明天再来。' }
        : { en: 'There is no rush pack for you right now.', zh: '当前没有可领取的抢购加油包。' },
  })
}
