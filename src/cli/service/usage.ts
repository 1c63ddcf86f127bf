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
export const run: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'session')
  const { body } = await call(context, site, { method: 'GET', path: '/api/membership/usage', credential })
  const usage = record(body)
  context.result(body, () => toText(context, usage))
}

function toText(context: Context, usage: Fields): string {
  const pools = list(usage['pools']).map(record)
  const boosts = list(usage['boosts']).map(record)
  const plan = terminalLine(string(usage['plan']) ?? string(record(usage['plan'])['name']) ?? '')
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

function bar(pool: Fields): string {
  const limit = number(pool['limit']) ?? 0
  if (limit <= 0) return ''
  const share = Math.min(1, Math.max(0, ((number(pool['used']) ?? 0) + (number(pool['reserved']) ?? 0)) / limit))
  const full = Math.round(share * 20)
  return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}]`
}
