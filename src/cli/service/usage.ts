import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import type { Fields } from '../record.ts'
import { list, number, record, string } from '../record.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { credits, moment } from './amounts.ts'
import { call } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** `GET usage`: the pools of day, week and month, and the packs that come after them. */
export const run: Run = async (context, _args, options) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const { body } = await call(context, site, { method: 'GET', path: '/api/membership/usage', credential })
  const usage = record(body)
  const turns = options.flag('turns')
  context.result(body, () => (turns ? turnsText(context, usage) : toText(context, usage)))
}

function toText(context: Context, usage: Fields): string {
  const pools = list(usage['pools']).map(record)
  const boosts = list(usage['boosts']).map(record)
  const plan = terminalLine(string(usage['plan_name']) ?? string(usage['plan']) ?? '')
  const table = toTable(pools, [
    {
      heading: context.say({ en: 'POOL', zh: '额度' }),
      cell: (pool) => terminalLine(`${string(pool['tier']) ?? ''} ${string(pool['window']) ?? ''}`),
    },
    { heading: '', cell: bar },
    { heading: context.say({ en: 'USED', zh: '已用' }), align: 'right', cell: (pool) => credits(pool['used']) },
    { heading: context.say({ en: 'OF', zh: '总量' }), align: 'right', cell: (pool) => credits(pool['limit']) },
    { heading: context.say({ en: 'LEFT', zh: '剩余' }), align: 'right', cell: (pool) => credits(pool['remaining']) },
    { heading: context.say({ en: 'RESETS', zh: '重置时间' }), cell: (pool) => moment(pool['resets_at']) },
  ])
  const packs = boosts.map((pack) => {
    const name = terminalLine(`${string(pack['kind']) ?? ''} ${string(pack['tier']) ?? ''}`)
    const until = moment(pack['expires_at'])
    return context.say({
      en: `  ${name}: ${credits(pack['remaining'])} of ${credits(pack['granted'])}${until && `, until ${until}`}`,
      zh: `  ${name}:剩余 ${credits(pack['remaining'])} / ${credits(pack['granted'])}${until && `,有效期至 ${until}`}`,
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
function turnsText(context: Context, usage: Fields): string {
  const turns = list(usage['turns']).map(record)
  if (turns.length === 0) return context.say({ en: 'No turns yet.', zh: '暂无记录。' })
  const text = (name: string) => (turn: Fields) => terminalLine(string(turn[name]) ?? '')
  return toTable(turns, [
    { heading: context.say({ en: 'WHEN', zh: '时间' }), cell: (turn) => moment(turn['started_at']) },
    { heading: context.say({ en: 'MODEL', zh: '模型' }), cell: text('model') },
    { heading: context.say({ en: 'STATE', zh: '状态' }), cell: text('state') },
    { heading: context.say({ en: 'IN', zh: '输入' }), align: 'right', cell: (turn) => credits(turn['input_tokens']) },
    { heading: context.say({ en: 'OUT', zh: '输出' }), align: 'right', cell: (turn) => credits(turn['output_tokens']) },
    { heading: context.say({ en: 'CREDITS', zh: '额度' }), align: 'right', cell: (turn) => credits(turn['credits']) },
    { heading: context.say({ en: 'CODE', zh: '错误码' }), cell: text('code') },
    { heading: context.say({ en: 'REQUEST', zh: '请求 ID' }), cell: text('request_id') },
  ])
}

function bar(pool: Fields): string {
  const limit = number(pool['limit']) ?? 0
  if (limit <= 0) return ''
  const share = Math.min(1, Math.max(0, ((number(pool['used']) ?? 0) + (number(pool['reserved']) ?? 0)) / limit))
  const full = Math.round(share * 20)
  return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}]`
}
