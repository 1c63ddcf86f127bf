/** `GET plans`: the public catalogue; nobody needs to be signed in. */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { listPlans } from '../../api/membership/plans.ts'
import type { Run } from '../command.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits } from './amounts.ts'
import { ask, show } from './client.ts'
import type { Told } from './client.ts'
import { readSite } from './site.ts'

export const run: Run = async (context) => {
  const site = readSite(context)
  const { answer } = await ask<typeof listPlans>(context, site, { method: 'GET', path: '/api/membership/plans' })
  show(context, site, answer, ({ data: plans = [] }) =>
    toTable(
      plans.flatMap((plan): readonly Plan[] => plan.options ?? [plan]),
      [
        {
          heading: context.say({ en: 'PLAN', zh: '套餐' }),
          cell: (plan) => terminalLine(plan.name ?? plan.id ?? ''),
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
          cell: (plan) => String(plan.rpm ?? ''),
        },
      ],
    ),
  )
}

/** A plan, or one of its price points, which include different amounts. */
type Plan = Omit<Told<AnswerOf<typeof listPlans>['data'][number]>, 'options'>

function prices({ prices = [] }: Plan): string {
  return prices
    .filter(({ amount = 0 }) => amount > 0)
    .map(({ amount, currency = '', interval = 'month', multiplier }) => {
      const shown = currency === 'USD' ? '$' : `${terminalLine(currency)} `
      return `${shown}${amount}/${terminalLine(interval)}${multiplier != null && multiplier > 1 ? ` (${multiplier}x)` : ''}`
    })
    .join(', ')
}

function pool({ pools }: Plan, tier: 'fast' | 'premium'): string {
  const { day, week, month } = pools?.[tier] ?? {}
  return [day, week, month].map(credits).join(' / ')
}
