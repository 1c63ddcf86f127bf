import type { Run } from '../command.ts'
import type { Fields } from '../record.ts'
import { list, number, record, string } from '../record.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits } from './amounts.ts'
import { call } from './client.ts'
import { readSite } from './site.ts'

/** `GET plans`: the public catalogue; nobody needs to be signed in. */
export const run: Run = async (context) => {
  const site = readSite(context)
  const { body } = await call(context, site, { method: 'GET', path: '/api/membership/plans' })
  const plans = list(record(body)['data']).map(record)
  context.result(body, () =>
    toTable(plans, [
      {
        heading: context.say({ en: 'PLAN', zh: '套餐' }),
        cell: (plan) => terminalLine(string(plan['name']) ?? string(plan['id']) ?? ''),
      },
      {
        heading: context.say({ en: 'PRICE', zh: '价格' }),
        cell: (plan) => prices(plan) || context.say({ en: 'free', zh: '免费' }),
      },
      { heading: context.say({ en: 'FAST day/week/month', zh: '快速 日/周/月' }), cell: (plan) => pool(plan, 'fast') },
      { heading: context.say({ en: 'PREMIUM day/week/month', zh: '高级 日/周/月' }), cell: (plan) => pool(plan, 'premium') },
      {
        heading: context.say({ en: 'PER MINUTE', zh: '每分钟' }),
        align: 'right',
        cell: (plan) => String(number(plan['rpm']) ?? ''),
      },
    ]),
  )
}

function prices(plan: Fields): string {
  return list(plan['prices'])
    .map(record)
    .filter((price) => (number(price['amount']) ?? 0) > 0)
    .map((price) => {
      const times = number(price['multiplier'])
      const currency = string(price['currency']) === 'USD' ? '$' : `${terminalLine(string(price['currency']) ?? '')} `
      return `${currency}${number(price['amount'])}/${terminalLine(string(price['interval']) ?? '')}${times !== undefined && times > 1 ? ` (${times}x)` : ''}`
    })
    .join(', ')
}

function pool(plan: Fields, tier: string): string {
  const windows = record(record(plan['pools'])[tier])
  return ['day', 'week', 'month'].map((window) => credits(windows[window])).join(' / ')
}
