/** `svc redeem`: shows what a code gives the account, and redeems it. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { inspectCode, redeemCode } from '../../../api/membership/redeem-codes.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { formatCount, formatTimestamp } from '../../terminal/amounts.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { fetchAccount, formatAccountLine } from '../client/account.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'

/** `POST codes/redeem`, or with `--check` `POST codes/inspect`, which changes nothing. */
export const run: CommandHandler = async (context, args, options) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  const account = await fetchAccount(context, site, credential)
  const body = { code: args.requireText('code') }
  if (options.getFlag('check')) {
    const request = { method: 'POST', path: '/api/membership/codes/inspect', body, credential } as const
    const { answer } = await callEndpoint<typeof inspectCode>(context, site, request)
    return printAnswer(context, site, { ...answer, account }, (outcome) => {
      const text = context.localize({ en: 'The code would give you:', zh: '该兑换码包含：' })
      return [text, ...formatOutcome(context, outcome), formatAccountLine(context, account, credential)].join('\n')
    })
  }
  const request = { method: 'POST', path: '/api/membership/codes/redeem', body, credential } as const
  const { answer } = await callEndpoint<typeof redeemCode>(context, site, request)
  printAnswer(context, site, { ...answer, account }, ({ outcome = {} }) => {
    const text = context.localize({ en: 'The code is redeemed:', zh: '兑换成功：' })
    return [text, ...formatOutcome(context, outcome), formatAccountLine(context, account, credential)].join('\n')
  })
}

function formatOutcome(context: Context, { plan, credits }: DeepPartial<ResponseOf<typeof inspectCode>>): readonly string[] {
  const { localize } = context
  if (credits != null) {
    const [count, pool, until] = [formatCount(credits.credits), credits.pool ?? '', formatTimestamp(context, credits.expires_at)]
    return [
      `  ${localize({ en: `${count} credits (${pool}), until ${until}`, zh: `${count} 点（${pool}），有效期至 ${until}` })}`,
    ]
  }
  if (plan == null) return []
  const [name, from, until] = [
    sanitizeLine(plan.name ?? ''),
    formatTimestamp(context, plan.starts_at),
    formatTimestamp(context, plan.ends_at),
  ]
  const first =
    plan.is_waiting === true
      ? localize({ en: `${name} from ${from} until ${until}`, zh: `${name}，${from} 至 ${until}` })
      : localize({ en: `${name} from now until ${until}`, zh: `${name}，即日起至 ${until}` })
  const interruptedPlan = sanitizeLine(plan.interrupts ?? '')
  const rest = localize({
    en: `The rest of ${interruptedPlan} follows afterwards.`,
    zh: `之后继续 ${interruptedPlan} 的剩余时间。`,
  })
  return [`  ${first}`, ...(interruptedPlan === '' ? [] : [`  ${rest}`])]
}
