/** `GET /v1/models`: the models of the account's plan. */
import type { ResponseOf } from '../../api/endpoint.ts'
import type { listModels } from '../../api/models/models.ts'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { formatCount, formatTier } from '../terminal/amounts.ts'
import { sanitizeLine } from '../terminal/sanitize-text.ts'
import { callEndpoint, printAnswer } from './client/service-client.ts'
import type { DeepPartial } from './client/service-client.ts'
import { requireCredential, readSite } from './client/site.ts'

export const run: CommandHandler = async (context) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'any')
  const { answer } = await callEndpoint<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential })
  printAnswer(context, site, answer.data ?? [], (models) => formatModels(context, models))
}

export function formatModels(context: Context, models: readonly Model[]): string {
  return drawTable(context, models, [
    { heading: context.localize({ en: 'MODEL', zh: '模型' }), cell: (model) => sanitizeLine(model.id ?? '') },
    {
      heading: context.localize({ en: 'TIER', zh: '档位' }),
      cell: (model) => formatTier(context, model.tier),
    },
    {
      heading: context.localize({ en: 'CAN', zh: '能力' }),
      cell: (model) => (model.capabilities ?? []).map(sanitizeLine).join(' '),
      drop: 2,
    },
    {
      heading: context.localize({ en: 'CONTEXT', zh: '上下文' }),
      align: 'right',
      cell: (model) => (model.context_length === undefined ? '' : formatCount(model.context_length)),
      drop: 1,
    },
    {
      heading: context.localize({ en: '$ PER 1M IN / OUT', zh: '每百万输入 / 输出' }),
      align: 'right',
      cell: (model) => formatPrice(context, model),
    },
    {
      heading: context.localize({ en: 'UNTIL', zh: '停用日期' }),
      cell: (model) => sanitizeLine(model.shutdown_date ?? ''),
      drop: 3,
    },
  ])
}

type Model = DeepPartial<ResponseOf<typeof listModels>['data'][number]>

/** Charged price in dollars per million tokens. */
function formatPrice(context: Context, { pricing = {} }: Model): string {
  const input = pricing.effective_input ?? pricing.input
  const cachedPrice = pricing.effective_cached_input ?? input
  const output = pricing.effective_output ?? pricing.output
  if (input === undefined) return ''
  return cachedPrice === input
    ? `$${input} / $${output}`
    : `$${input} (${context.localize({ en: `$${cachedPrice} cached`, zh: `缓存 $${cachedPrice}` })}) / $${output}`
}

/** The names that the website uses. */
