/** `GET usage`: the pools of day, week and month, and the boost packs that are used after them; what a request cost; and the emails about them. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showUsage } from '../../../api/membership/usage.ts'
import type { showKeyUsage } from '../../../api/usage.ts'
import type { setUsageAlerts, showUsageAlerts } from '../../../api/membership/usage-alerts.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { drawTable } from '../../terminal/draw-table.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { formatCount, formatTier, formatTimestamp, withZone } from '../../terminal/amounts.ts'
import { fetchAccount, formatAccountLine } from '../client/account.ts'
import { formatPack } from '../client/boost-pack.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'
import type { Credential, Site } from '../client/site.ts'
import { fetchTurns } from '../client/turn-charge.ts'

const alertsPath = '/api/membership/usage-alerts'

export const run: CommandHandler = async (context, _args, options) => {
  const site = readSite(context)
  const turns = options.getFlag('turns')
  const requestId = options.getText('request')
  if (requestId !== undefined) return showRequest(context, site, requestId)
  const credential = requireCredential(context, site, turns ? 'session' : 'any')
  if (credential.kind === 'key') return showUsageOfKey(context, site, credential)
  const { answer } = await callEndpoint<typeof showUsage>(context, site, {
    method: 'GET',
    path: '/api/membership/usage',
    credential,
  })
  printAnswer(context, site, answer, (usage) =>
    turns ? formatTurns(context, usage, credential) : formatUsage(context, usage, credential),
  )
}

/** What a key opens: the figures of its account, and not whose they are. */
async function showUsageOfKey(context: Context, site: Site, credential: Credential): Promise<void> {
  const { answer } = await callEndpoint<typeof showKeyUsage>(context, site, { method: 'GET', path: '/v1/usage', credential })
  printAnswer(context, site, answer, (usage) => {
    const { requests_per_minute: rpm, concurrent_turns: turns } = usage.limits ?? {}
    const figures = [formatCount(rpm), formatCount(turns)]
    return [
      context.localize({ en: `Account of the key in ${credential.from}`, zh: `${credential.from} 中密钥所属的账户` }),
      ...formatFigures(context, usage),
      '',
      context.localize({
        en: `Limits: ${figures[0]} requests a minute, ${figures[1]} at once`,
        zh: `限制：每分钟 ${figures[0]} 次请求，同时 ${figures[1]} 个`,
      }),
    ].join('\n')
  })
}

/** `GET turns/{request id}`: what a request cost, with each of its turns. */
async function showRequest(context: Context, site: Site, requestId: string): Promise<void> {
  const credential = requireCredential(context, site, 'any')
  const turnsAnswer = await fetchTurns(context, requestId, { site, credential })
  printAnswer(context, site, turnsAnswer, ({ request_id: id = '', credits, data = [] }) => {
    const sum = formatCount(credits)
    const line = context.localize({ en: `${sanitizeLine(id)}: ${sum} credits`, zh: `${sanitizeLine(id)}：${sum} 点` })
    return `${line}\n\n${drawTurns(context, data)}`
  })
}

/** `GET` and `POST usage-alerts`: emails at 80 and 100 % of a window, for the account of the session. */
export const alerts: CommandHandler = async (context, args) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  const requestedState = args.getText('state')
  // Before the change: a failure afterwards would hide that it was made.
  const account = await fetchAccount(context, site, credential)
  const { answer } =
    requestedState === undefined
      ? await callEndpoint<typeof showUsageAlerts>(context, site, { method: 'GET', path: alertsPath, credential })
      : await callEndpoint<typeof setUsageAlerts>(context, site, {
          method: 'POST',
          path: alertsPath,
          body: { enabled: requestedState === 'on' },
          credential,
        })
  printAnswer(context, site, { enabled: answer.enabled, account }, ({ enabled }) => {
    const state =
      enabled === true
        ? context.localize({
            en: 'Emails at 80 % and 100 % of your usage: on. They are in the language and time zone in which they were switched on.',
            zh: '用量达到 80% 和 100% 时的邮件：已开启，使用开启时的语言和时区。',
          })
        : context.localize({
            en: 'Emails at 80 % and 100 % of your usage: off. Switch them on: svc alerts on',
            zh: '用量达到 80% 和 100% 时的邮件：已关闭。开启：svc alerts on',
          })
    return `${state}\n${formatAccountLine(context, account, credential)}`
  })
}

type Usage = DeepPartial<ResponseOf<typeof showUsage>>

function formatUsage(context: Context, { account = {}, ...usage }: Usage, credential: Credential): string {
  return [formatAccountLine(context, account, credential), ...formatFigures(context, usage)].join('\n')
}

type Figures = Pick<Usage, 'pools' | 'boosts' | 'plan_name' | 'plan'>

function formatFigures(context: Context, { pools = [], boosts = [], plan_name, plan: planId = '' }: Figures): readonly string[] {
  const plan = sanitizeLine(plan_name ?? planId)
  const table = drawTable(context, pools, [
    {
      heading: context.localize({ en: 'POOL', zh: '额度' }),
      cell: (pool) => `${formatTier(context, pool.tier)} ${sanitizeLine(pool.window ?? '')}`,
    },
    { heading: '', cell: renderBar, drop: 2 },
    { heading: '', align: 'right', cell: formatShare },
    { heading: context.localize({ en: 'CREDITS USED', zh: '已用点数' }), align: 'right', cell: (pool) => formatCount(pool.used) },
    { heading: context.localize({ en: 'OF', zh: '总量' }), align: 'right', cell: (pool) => formatCount(pool.limit) },
    {
      heading: context.localize({ en: 'LEFT', zh: '剩余' }),
      align: 'right',
      cell: (pool) => formatCount(pool.remaining),
      drop: 1,
    },
    {
      heading: withZone(context.localize({ en: 'RESETS', zh: '重置时间' })),
      cell: (pool) => formatTimestamp(context, pool.resets_at),
    },
  ])
  const packs = boosts.map((pack) => `  ${formatPack(context, pack)}`)
  return [
    context.localize({ en: `Plan: ${plan}`, zh: `套餐：${plan}` }),
    '',
    table,
    ...(packs.length === 0 ? [] : ['', context.localize({ en: 'Boost packs:', zh: '加油包：' }), ...packs]),
  ]
}

/** The latest turns, newest first, each with the request id that support needs. */
function formatTurns(context: Context, { account = {}, turns = [] }: Usage, credential: Credential): string {
  const line = formatAccountLine(context, account, credential)
  if (turns.length === 0) return `${line}\n${context.localize({ en: 'No turns yet.', zh: '还没有请求。' })}`
  return `${line}\n\n${drawTurns(context, turns)}`
}

function drawTurns(context: Context, turns: NonNullable<Usage['turns']>): string {
  return drawTable(context, turns, [
    {
      heading: withZone(context.localize({ en: 'WHEN', zh: '时间' })),
      cell: (turn) => formatTimestamp(context, turn.started_at),
    },
    { heading: context.localize({ en: 'MODEL', zh: '模型' }), cell: (turn) => sanitizeLine(turn.model ?? '') },
    { heading: context.localize({ en: 'STATE', zh: '状态' }), cell: (turn) => sanitizeLine(turn.state ?? '') },
    {
      heading: context.localize({ en: 'IN', zh: '输入' }),
      align: 'right',
      cell: (turn) => formatCount(turn.input_tokens),
      drop: 2,
    },
    {
      heading: context.localize({ en: 'CACHED', zh: '缓存' }),
      align: 'right',
      cell: ({ cached_input_tokens: cached = 0 }) => (cached === 0 ? '' : formatCount(cached)),
      drop: 5,
    },
    {
      heading: context.localize({ en: 'OUT', zh: '输出' }),
      align: 'right',
      cell: (turn) => formatCount(turn.output_tokens),
      drop: 1,
    },
    { heading: context.localize({ en: 'CREDITS', zh: '点数' }), align: 'right', cell: (turn) => formatCount(turn.credits) },
    { heading: context.localize({ en: 'CODE', zh: '错误码' }), cell: (turn) => sanitizeLine(turn.code ?? ''), drop: 3 },
    {
      heading: context.localize({ en: 'REQUEST', zh: '请求 ID' }),
      cell: (turn) => sanitizeLine(turn.request_id ?? ''),
      short: (turn) => shortenId(sanitizeLine(turn.request_id ?? '')),
      drop: 4,
    },
  ])
}

function renderBar({ limit = 0, used = 0, reserved = 0 }: NonNullable<Usage['pools']>[number]): string {
  if (limit <= 0) return ''
  const share = Math.min(1, Math.max(0, (used + reserved) / limit))
  // What is used shows, however little; only a full pool has a full bar.
  const full = share === 1 ? 20 : Math.min(19, Math.ceil(share * 20))
  return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}]`
}

function formatShare({ limit = 0, used = 0, reserved = 0 }: NonNullable<Usage['pools']>[number]): string {
  return limit <= 0 ? '' : `${Math.min(100, Math.floor((100 * (used + reserved)) / limit))}%`
}

/** The end of an id, which tells turns apart. */
function shortenId(id: string): string {
  return id.length > 12 ? `…${id.slice(-10)}` : id
}
