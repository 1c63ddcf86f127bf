/** The commands of `svc boost`: packs of credits that are used after the plan's included usage. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showBoost, takeBoost } from '../../../api/membership/usage.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { formatCount, formatTimestamp } from '../../terminal/amounts.ts'
import { formatZone } from '../../../system/terminal/format-time.ts'
import { fetchAccount, formatAccountLine } from '../client/account.ts'
import { formatPack } from '../client/boost-pack.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'

/** `GET boost`: the packs of the account and the packs it can claim. */
export const status: CommandHandler = async (context) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  const [account, { answer }] = await Promise.all([
    fetchAccount(context, site, credential),
    callEndpoint<typeof showBoost>(context, site, { method: 'GET', path: '/api/membership/boost', credential }),
  ])
  printAnswer(context, site, { ...answer, account }, (boost) =>
    [formatAccountLine(context, account, credential), ...formatBoost(context, boost)].join('\n'),
  )
}

export const checkin: CommandHandler = (context) => claimBoost(context, 'checkin')

export const rush: CommandHandler = (context) => claimBoost(context, 'rush_grab')

/** `POST boost {action}`. The service refuses a second claim with `boost_unavailable`. */
async function claimBoost(context: Context, action: 'checkin' | 'rush_grab'): Promise<void> {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  // Before the claim: a failure afterwards would hide that the account has a new pack.
  const account = await fetchAccount(context, site, credential)
  const stopProgress = context.showProgress({ en: 'Claiming the pack …', zh: '正在领取加油包 …' })
  const { answer } = await callEndpoint<typeof takeBoost>(context, site, {
    method: 'POST',
    path: '/api/membership/boost',
    body: { action },
    credential,
  }).finally(stopProgress)
  printAnswer(context, site, { ...answer, account }, ({ pack }) => {
    const amount = pack?.granted === undefined ? '' : ` +${formatCount(pack.granted)}`
    const text =
      action === 'checkin'
        ? context.localize({ en: `Checked in.${amount}`, zh: `签到成功。${amount}` })
        : context.localize({ en: `You got a rush pack.${amount}`, zh: `抢到加油包。${amount}` })
    return `${text}\n${formatAccountLine(context, account, credential)}`
  })
}

type Boost = DeepPartial<ResponseOf<typeof showBoost>>

function formatBoost(context: Context, { balance, checkin = {}, invite = {}, rush = {}, packs = [] }: Boost): string[] {
  const link = sanitizeLine(invite.url ?? invite.code ?? '')
  return [
    context.localize({ en: `Boost: ${formatCount(balance)} left`, zh: `加油包余额：${formatCount(balance)}` }),
    checkin.available === true
      ? context.localize({
          en: `Check-in: +${formatCount(checkin.credits)} now: svc boost checkin`,
          zh: `签到：可领 +${formatCount(checkin.credits)}：svc boost checkin`,
        })
      : context.localize({
          en: `Check-in: done, next at ${formatTimestamp(context, checkin.next_at)} (${formatZone(context.now())})`,
          zh: `签到：已完成，下次 ${formatTimestamp(context, checkin.next_at)}`,
        }),
    context.localize({
      en: `Invite: ${link} (${invite.credited ?? 0} of ${invite.limit ?? '–'} credited)`,
      zh: `邀请：${link}（已计 ${invite.credited ?? 0} / ${invite.limit ?? '–'}）`,
    }),
    formatRush(context, rush),
    ...packs.map((pack) => `  ${formatPack(context, pack)}`),
  ]
}

function formatRush(context: Context, rush: NonNullable<Boost['rush']>): string {
  if (rush.active === true && rush.taken === true) {
    return context.localize({ en: 'Rush: open, and you have your pack', zh: '抢购：进行中，你已领取' })
  }
  if (rush.active === true) {
    const remainingPacks = rush.remaining
    return context.localize({
      en: `Rush: open until ${formatTimestamp(context, rush.ends_at)} (${formatZone(context.now())})${remainingPacks === undefined ? '' : `, ${remainingPacks} packs left`}: svc boost rush`,
      zh: `抢购：进行中，截止 ${formatTimestamp(context, rush.ends_at)}${remainingPacks === undefined ? '' : `，剩余 ${remainingPacks} 份`}：svc boost rush`,
    })
  }
  const next = formatTimestamp(context, rush.starts_at)
  return next === ''
    ? context.localize({ en: 'Rush: none now', zh: '抢购：暂无' })
    : context.localize({
        en: `Rush: starts ${next} (${formatZone(context.now())})`,
        zh: `抢购：${next}（${formatZone(context.now())}）开始`,
      })
}
