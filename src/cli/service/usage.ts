/** `GET usage`: the pools of day, week and month, and the packs that come after them. */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { showUsage } from '../../api/membership/usage.ts'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits, moment } from './amounts.ts'
import { ask, show } from './client.ts'
import type { Told } from './client.ts'
import { needCredential, readSite } from './site.ts'

export const run: Run = async (context, _args, options) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const { answer } = await ask<typeof showUsage>(context, site, { method: 'GET', path: '/api/membership/usage', credential })
  const turns = options.flag('turns')
  show(context, site, answer, (usage) => (turns ? turnsText(context, usage) : toText(context, usage)))
}

type Usage = Told<AnswerOf<typeof showUsage>>

function toText(context: Context, { pools = [], boosts = [], plan_name, plan: planId = '' }: Usage): string {
  const plan = terminalLine(plan_name ?? planId)
  const table = toTable(pools, [
    {
      heading: context.say({ en: 'POOL', zh: '额度' }),
      cell: (pool) => terminalLine(`${pool.tier ?? ''} ${pool.window ?? ''}`),
    },
    { heading: '', cell: bar },
    { heading: context.say({ en: 'USED', zh: '已用' }), align: 'right', cell: (pool) => credits(pool.used) },
    { heading: context.say({ en: 'OF', zh: '总量' }), align: 'right', cell: (pool) => credits(pool.limit) },
    { heading: context.say({ en: 'LEFT', zh: '剩余' }), align: 'right', cell: (pool) => credits(pool.remaining) },
    { heading: context.say({ en: 'RESETS', zh: '重置时间' }), cell: (pool) => moment(pool.resets_at) },
  ])
  const packs = boosts.map((pack) => {
    const name = terminalLine(`${pack.kind ?? ''} ${pack.tier ?? ''}`)
    const until = moment(pack.expires_at)
    return context.say({
      en: `  ${name}: ${credits(pack.remaining)} of ${credits(pack.granted)}${until && `, until ${until}`}`,
      zh: `  ${name}:剩余 ${credits(pack.remaining)} / ${credits(pack.granted)}${until && `,有效期至 ${until}`}`,
    })
  })
  return [
    context.say({ en: `Plan: ${plan}`, zh: `套餐:${plan}` }),
    '',
    table,
    ...(packs.length === 0 ? [] : ['', context.say({ en: 'Boost packs:', zh: '加油包:' }), ...packs]),
  ].join('\n')
}

/** The latest turns, newest first, each with its request id: what support asks for. */
function turnsText(context: Context, { turns = [] }: Usage): string {
  if (turns.length === 0) return context.say({ en: 'No turns yet.', zh: '暂无记录。' })
  return toTable(turns, [
    { heading: context.say({ en: 'WHEN', zh: '时间' }), cell: (turn) => moment(turn.started_at) },
    { heading: context.say({ en: 'MODEL', zh: '模型' }), cell: (turn) => terminalLine(turn.model ?? '') },
    { heading: context.say({ en: 'STATE', zh: '状态' }), cell: (turn) => terminalLine(turn.state ?? '') },
    { heading: context.say({ en: 'IN', zh: '输入' }), align: 'right', cell: (turn) => credits(turn.input_tokens) },
    { heading: context.say({ en: 'OUT', zh: '输出' }), align: 'right', cell: (turn) => credits(turn.output_tokens) },
    { heading: context.say({ en: 'CREDITS', zh: '额度' }), align: 'right', cell: (turn) => credits(turn.credits) },
    { heading: context.say({ en: 'CODE', zh: '错误码' }), cell: (turn) => terminalLine(turn.code ?? '') },
    { heading: context.say({ en: 'REQUEST', zh: '请求 ID' }), cell: (turn) => terminalLine(turn.request_id ?? '') },
  ])
}

function bar({ limit = 0, used = 0, reserved = 0 }: NonNullable<Usage['pools']>[number]): string {
  if (limit <= 0) return ''
  const share = Math.min(1, Math.max(0, (used + reserved) / limit))
  const full = Math.round(share * 20)
  return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}]`
}
