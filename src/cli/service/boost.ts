import type { Context } from '../context.ts'
import type { Fields } from '../record.ts'
import { list, number, record, string } from '../record.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits, moment } from './amounts.ts'
import { call } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** `GET boost`: what can be had, and what there is. */
export async function showBoost(context: Context): Promise<void> {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const { body } = await call(context, site, { method: 'GET', path: '/api/membership/boost', credential })
  context.result(body, () => toText(context, record(body)))
}

/** `POST boost {action}`. What was had already is the service's `boost_unavailable`. */
export async function takeBoost(context: Context, action: 'checkin' | 'rush_grab'): Promise<void> {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const done = context.progress({ en: 'Asking for the pack …', zh: '正在领取 …' })
  const { body } = await call(context, site, {
    method: 'POST',
    path: '/api/membership/boost',
    body: { action },
    credential,
  }).finally(done)
  context.result(body, () => {
    const granted = grantedBy(record(body))
    const amount = granted === undefined ? '' : ` +${credits(granted)}`
    return action === 'checkin'
      ? context.say({ en: `Checked in.${amount}`, zh: `签到成功。${amount}` })
      : context.say({ en: `You got a rush pack.${amount}`, zh: `抢到加油包。${amount}` })
  })
}

/** The amount in the answer, whether it lies at the top or in the pack that was given. */
function grantedBy(body: Fields): number | undefined {
  return number(record(body['pack'])['granted']) ?? number(body['granted']) ?? number(body['credits'])
}

function toText(context: Context, boost: Fields): string {
  const checkin = record(boost['checkin'])
  const invite = record(boost['invite'])
  const rush = record(boost['rush'])
  const packs = list(boost['packs']).map(record)
  const link = terminalLine(string(invite['url']) ?? string(invite['code']) ?? '')
  const lines = [
    context.say({ en: `Boost: ${credits(boost['balance'])} left`, zh: `加油包余额:${credits(boost['balance'])}` }),
    checkin['available'] === true
      ? context.say({
          en: `Check-in: +${credits(checkin['credits'])} now: svc boost checkin`,
          zh: `签到:可领 +${credits(checkin['credits'])}:svc boost checkin`,
        })
      : context.say({
          en: `Check-in: done, next at ${moment(checkin['next_at'])}`,
          zh: `签到:已完成,下次 ${moment(checkin['next_at'])}`,
        }),
    context.say({
      en: `Invite: ${link} (${number(invite['credited']) ?? 0} of ${number(invite['limit']) ?? '–'} credited)`,
      zh: `邀请:${link}(已计 ${number(invite['credited']) ?? 0} / ${number(invite['limit']) ?? '–'})`,
    }),
    rushText(context, rush),
    ...packs.map((pack) => {
      const name = terminalLine(`${string(pack['kind']) ?? ''} ${string(pack['tier']) ?? ''}`)
      return `  ${name}: ${credits(pack['remaining'])} / ${credits(pack['granted'])}  ${moment(pack['expires_at'])}`.trimEnd()
    }),
  ]
  return lines.join('\n')
}

function rushText(context: Context, rush: Fields): string {
  if (rush['active'] === true && rush['taken'] === true) {
    return context.say({ en: 'Rush: open, and you have your pack', zh: '抢购:进行中,您已领取' })
  }
  if (rush['active'] === true) {
    const left = number(rush['remaining'])
    return context.say({
      en: `Rush: open until ${moment(rush['ends_at'])}${left === undefined ? '' : `, ${left} packs left`}: svc boost rush`,
      zh: `抢购:进行中,截止 ${moment(rush['ends_at'])}${left === undefined ? '' : `,剩余 ${left} 份`}:svc boost rush`,
    })
  }
  const next = moment(rush['starts_at'])
  return next === ''
    ? context.say({ en: 'Rush: none now', zh: '抢购:暂无' })
    : context.say({ en: `Rush: starts ${next}`, zh: `抢购:${next} 开始` })
}
