/** The account of a session, and the line by which a command names it. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showUsage } from '../../../api/membership/usage.ts'
import type { Context } from '../../context.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { callEndpoint } from './service-client.ts'
import type { DeepPartial } from './service-client.ts'
import type { Credential, Site } from './site.ts'

type Account = NonNullable<DeepPartial<ResponseOf<typeof showUsage>>['account']>

/** `GET usage` is the only endpoint whose answer names the account. */
export async function fetchAccount(context: Context, site: Site, credential: Credential): Promise<Account> {
  const { answer } = await callEndpoint<typeof showUsage>(context, site, {
    method: 'GET',
    path: '/api/membership/usage',
    credential,
  })
  return answer.account ?? {}
}

/** The masked email address, or the account's id where it has none; empty where the service gives neither. */
export function formatAccountName({ email_masked: email, id }: Account): string {
  return sanitizeLine(email ?? '') || sanitizeLine(id ?? '')
}

export function formatAccountLine(context: Context, account: Account, { from }: Credential): string {
  const source = from === 'file' ? 'svc login' : from
  return context.localize({
    en: `Account: ${formatAccountName(account) || 'unknown'} (session from ${source})`,
    zh: `账户：${formatAccountName(account) || '未知'}（登录来自 ${source}）`,
  })
}
