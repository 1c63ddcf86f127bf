/** Boosts: what there is, and the two that a member takes by asking. */
import type { Router } from '@koa/router'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { Account } from '../../../membership/account.ts'
import type { Pack } from '../../../membership/ledger.ts'
import type { Services } from '../../../gateway/services.ts'
import { toUsageBoosts } from '../../../membership/usage.ts'
import type { House } from '../../house.ts'
import { readJson } from '../../body.ts'
import { balanceOf } from './balance.ts'
import { textField } from './fields.ts'
import { mount } from './mount.ts'
import { requireSession } from './visitor.ts'

const actions = ['checkin', 'rush_grab'] as const

export function boostRoutes(router: Router, { services }: House): void {
  const { membership, config, clock } = services

  mount(router, 'get', '/boost', async (ctx) => {
    const { account } = await requireSession(ctx, services)
    return toStatus(account, services)
  })

  mount(router, 'post', '/boost', async (ctx) => {
    const { account } = await requireSession(ctx, services)
    const asked = textField(await readJson(ctx.req, config.limits.otherBodyBytes), 'action', { max: 64 })
    const action = actions.find((known) => known === asked)
    if (action === undefined)
      throw invalidRequest(
        { en: `'action' must be one of: ${actions.join(', ')}.`, zh: `'action' 必须是以下之一:${actions.join('、')}。` },
        'action',
      )
    await membership.allowances.take('boost-by-account', account.id, clock.now())
    const pack = await (action === 'checkin' ? membership.boosts.checkIn(account) : membership.boosts.grabRush(account))
    if (pack === undefined) throw unavailable(action)
    return { ok: true, action, pack: toPackRecord(pack), boost: await toStatus(account, services) }
  })
}

async function toStatus(account: Account, services: Services): Promise<Record<string, unknown>> {
  const { membership, origins } = services
  const { checkin, invite, rush } = await membership.boosts.status(account)
  const packs = toUsageBoosts(await balanceOf(account, services))
  const left = (tier: string): number =>
    packs.filter((pack) => pack.tier === tier).reduce((sum, { remaining }) => sum + remaining, 0)
  const balances = { fast: left('fast'), premium: left('premium') }
  return {
    balance: balances.fast + balances.premium,
    balances,
    checkin: {
      available: checkin.available,
      next_at: new Date(checkin.nextAt).toISOString(),
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
      starts_at: rush === null ? null : new Date(rush.startsAt).toISOString(),
      ends_at: rush === null ? null : new Date(rush.endsAt).toISOString(),
      remaining: rush?.remaining ?? 0,
      credits: rush?.credits ?? null,
      tier: rush?.pool ?? null,
      taken: rush?.taken ?? false,
    },
    packs,
  }
}

function toPackRecord(pack: Pack): unknown {
  return toUsageBoosts({ pools: [], packs: [pack] })[0]
}

function unavailable(action: (typeof actions)[number]): GatewayError {
  return new GatewayError('boost_unavailable', {
    message:
      action === 'checkin'
        ? { en: 'You have checked in today. Come back tomorrow.', zh: '今天已签到,请明天再来。' }
        : { en: 'There is no rush pack for you right now.', zh: '当前没有可领取的抢购加油包。' },
  })
}
