/** `GET plans`: the public list of plans; needs no sign-in. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { listPlans } from '../../../api/membership/plans.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { drawTable } from '../../terminal/draw-table.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { formatCount, formatTier } from '../../terminal/amounts.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { readSite } from '../client/site.ts'

export const run: CommandHandler = async (context) => {
  const site = readSite(context)
  const { answer } = await callEndpoint<typeof listPlans>(context, site, { method: 'GET', path: '/api/membership/plans' })
  printAnswer(context, site, answer, ({ data: plans = [], packs = [], is_sold: isSold = false }) => {
    const table = drawTable(
      context,
      plans.flatMap((plan): readonly Plan[] => plan.options ?? [plan]),
      [
        {
          heading: context.localize({ en: 'PLAN', zh: '套餐' }),
          cell: (plan) => sanitizeLine(plan.name ?? plan.id ?? ''),
        },
        {
          heading: context.localize({ en: 'PRICE', zh: '价格' }),
          cell: (plan) => formatPrices(plan) || context.localize({ en: 'free', zh: '免费' }),
        },
        {
          heading: context.localize({ en: 'FAST MESSAGES day / week / month', zh: '快速消息数 日/周/月' }),
          cell: (plan) => formatMessages(plan, 'fast'),
        },
        {
          heading: context.localize({ en: 'PREMIUM MESSAGES day / week / month', zh: '高级消息数 日/周/月' }),
          cell: (plan) => formatMessages(plan, 'premium'),
        },
        {
          heading: context.localize({ en: 'PER MINUTE', zh: '每分钟' }),
          align: 'right',
          cell: (plan) => String(plan.rpm ?? ''),
          drop: 1,
        },
      ],
    )
    return isSold ? [table, ...drawPacks(context, packs), '', describeBuying(context, packs)].join('\n') : table
  })
}

type Catalog = DeepPartial<ResponseOf<typeof listPlans>>

function drawPacks(context: Context, packs: NonNullable<Catalog['packs']>): readonly string[] {
  if (packs.length === 0) return []
  const { localize } = context
  const table = drawTable(context, packs, [
    { heading: localize({ en: 'PACK', zh: '加油包' }), cell: ({ id }) => sanitizeLine(id ?? '') },
    {
      heading: localize({ en: 'PRICE', zh: '价格' }),
      cell: ({ prices = [] }) => prices.map((price) => formatAmount(price)).join(', '),
    },
    { heading: localize({ en: 'CREDITS', zh: '点数' }), align: 'right', cell: ({ credits }) => formatCount(credits) },
    { heading: localize({ en: 'FOR', zh: '用于' }), cell: ({ pool }) => formatTier(context, pool) },
    {
      heading: localize({ en: 'GOOD FOR', zh: '有效期' }),
      cell: ({ days }) =>
        days == null ? localize({ en: 'no end', zh: '无限期' }) : localize({ en: `${days} days`, zh: `${days} 天` }),
    },
  ])
  return ['', table]
}

function describeBuying({ localize }: Context, [pack]: NonNullable<Catalog['packs']>): string {
  const buyPack = pack?.id === undefined ? '' : ` · svc buy pack ${sanitizeLine(pack.id)}`
  return localize({ en: `Buy: svc buy <plan> [--yearly]${buyPack}`, zh: `购买：svc buy <套餐> [--yearly]${buyPack}` })
}

/** A plan, or one of its price options, each with its own included amounts. */
type Plan = Omit<DeepPartial<ResponseOf<typeof listPlans>['data'][number]>, 'options'>

function formatPrices({ prices = [] }: Plan): string {
  return prices
    .filter(({ amount = 0 }) => amount > 0)
    .map(({ amount, currency = '', interval = 'month', multiplier }) => {
      return `${formatAmount({ amount, currency })}/${sanitizeLine(interval)}${multiplier != null && multiplier > 1 ? ` (${multiplier}x)` : ''}`
    })
    .join(', ')
}

function formatAmount({
  amount = 0,
  currency = '',
}: {
  readonly amount?: number | undefined
  readonly currency?: string | undefined
}): string {
  return `${currency === 'USD' ? '$' : `${sanitizeLine(currency)} `}${amount}`
}

/** About how many messages the credits pay for, as the website shows it. */
function formatMessages({ messages }: Plan, tier: 'fast' | 'premium'): string {
  const { day, week, month } = messages?.[tier] ?? {}
  return `≈ ${[day, week, month].map(formatCount).join(' / ')}`
}
