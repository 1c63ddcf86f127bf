/** The commands of `svc boost`: packs that come after the included usage. */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { showBoost, takeBoost } from '../../api/membership/usage.ts'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits, moment } from './amounts.ts'
import { ask, show } from './client.ts'
import type { Told } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** `GET boost`: what can be had, and what there is. */
export const status: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const { answer } = await ask<typeof showBoost>(context, site, {
    method: 'GET',
    path: '/api/membership/boost',
    credential,
  })
  show(context, site, answer, (boost) => toText(context, boost))
}

export const checkin: Run = (context) => take(context, 'checkin')

export const rush: Run = (context) => take(context, 'rush_grab')

/** `POST boost {action}`. What was had already is the service's `boost_unavailable`. */
async function take(context: Context, action: 'checkin' | 'rush_grab'): Promise<void> {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const done = context.progress({ en: 'Asking for the pack …', zh: '正在领取 …' })
  const { answer } = await ask<typeof takeBoost>(context, site, {
    method: 'POST',
    path: '/api/membership/boost',
    body: { action },
    credential,
  }).finally(done)
  show(context, site, answer, ({ pack }) => {
    const amount = pack?.granted === undefined ? '' : ` +${credits(pack.granted)}`
    return action === 'checkin'
      ? context.say({ en: `Checked in.${amount}`, zh: `签到成功。${amount}` })
      : context.say({ en: `You got a rush pack.${amount}`, zh: `抢到加油包。${amount}` })
  })
}

type Boost = Told<AnswerOf<typeof showBoost>>

function toText(context: Context, { balance, checkin = {}, invite = {}, rush = {}, packs = [] }: Boost): string {
  const link = terminalLine(invite.url ?? invite.code ?? '')
  const lines = [
    context.say({ en: `Boost: ${credits(balance)} left`, zh: `加油包余额:${credits(balance)}` }),
    checkin.available === true
      ? context.say({
          en: `Check-in: +${credits(checkin.credits)} now: svc boost checkin`,
          zh: `签到:可领 +${credits(checkin.credits)}:svc boost checkin`,
        })
      : context.say({
          en: `Check-in: done, next at ${moment(checkin.next_at)}`,
          zh: `签到:已完成,下次 ${moment(checkin.next_at)}`,
        }),
    context.say({
      en: `Invite: ${link} (${invite.credited ?? 0} of ${invite.limit ?? '–'} credited)`,
      zh: `邀请:${link}(已计 ${invite.credited ?? 0} / ${invite.limit ?? '–'})`,
    }),
    rushText(context, rush),
    ...packs.map((pack) => {
      const name = terminalLine(`${pack.kind ?? ''} ${pack.tier ?? ''}`)
      return `  ${name}: ${credits(pack.remaining)} / ${credits(pack.granted)}  ${moment(pack.expires_at)}`.trimEnd()
    }),
  ]
  return lines.join('\n')
}

function rushText(context: Context, rush: NonNullable<Boost['rush']>): string {
  if (rush.active === true && rush.taken === true) {
    return context.say({ en: 'Rush: open, and you have your pack', zh: '抢购:进行中,您已领取' })
  }
  if (rush.active === true) {
    const left = rush.remaining
    return context.say({
      en: `Rush: open until ${moment(rush.ends_at)}${left === undefined ? '' : `, ${left} packs left`}: svc boost rush`,
      zh: `抢购:进行中,截止 ${moment(rush.ends_at)}${left === undefined ? '' : `,剩余 ${left} 份`}:svc boost rush`,
    })
  }
  const next = moment(rush.starts_at)
  return next === ''
    ? context.say({ en: 'Rush: none now', zh: '抢购:暂无' })
    : context.say({ en: `Rush: starts ${next}`, zh: `抢购:${next} 开始` })
}
